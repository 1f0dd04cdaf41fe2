# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_options import keys
from tests.unit import base
from tests.unit import untrusted


@ddt.ddt
class KeysTestCase(base.TestCase):
    @ddt.data(
        'RBD:stripe_count',
        'rbd:Stripe_Count',
        'rbd:stripe_count ',
        ' rbd:stripe_count',
        'rbd:stripe_count\n',
        'rbd:stripe_count\u200b',
        '\ufeffr\u00adbd:stripe_count',
        '\uff52\uff42\uff44\uff1astripe_count',
        'rbd:str\u00edpe_count',
        'rbd:stri\u0301pe_count',
        'rbd:str\u0131pe_count',
        'RBD:STR\u0130PE_COUNT',
        'rbd:\u017ftripe_count',
        'rbd:\u00dftripe_count',
        'rb\u0111:stripe_count',
        'rbd:stripe_c\u00d8unt',
        'rbd:stripe_coun\x00t',
    )
    def test_same_key_to_a_database(self, name: str) -> None:
        self.assertEqual('rbd:stripe_count', keys.normal_name(name))
        self.assertTrue(keys.is_ours(name))
        self.assertTrue(keys.is_misspelled(name))

    def test_exact_and_unknown_keys(self) -> None:
        for name in (keys.STRIPE_UNIT, 'rbd:', 'rbd:other'):
            self.assertTrue(keys.is_ours(name), name)
            self.assertFalse(keys.is_misspelled(name), name)

    @ddt.data('', 'rbd', 'rb:x', 'rbd_stripe_count', 'x rbd:a', 'rbd :a')
    def test_keys_of_others(self, name: str) -> None:
        self.assertFalse(keys.is_ours(name))
        self.assertFalse(keys.is_misspelled(name))

    @hypothesis.given(untrusted.TEXTS | strategies.text('Rrb\u0300\u017f: \0'))
    def test_each_name_has_one_normal_form(self, name: str) -> None:
        normal = keys.normal_name(name)
        self.assertEqual(normal, keys.normal_name(normal))
        self.assertEqual(
            keys.is_misspelled(name),
            normal.startswith(keys.PREFIX) and normal != name,
        )

    def test_too_long_for_cinder(self) -> None:
        """Without the limit, the last name would take 12 seconds."""
        for name in ('rbd:' + 'x' * 252, 'R' * 256, '\u0300\u0316' * 28_500):
            self.assertTrue(keys.normal_name(name) == name, name[:5])
            self.assertFalse(keys.is_ours(name), name[:5])
            self.assertFalse(keys.is_misspelled(name), name[:5])

    def test_longest_name_is_normalised(self) -> None:
        name = 'RBD:' + 'x' * 251
        self.assertEqual(name.lower(), keys.normal_name(name))
        self.assertTrue(keys.is_misspelled(name))
