#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

import ddt

from rbd_volume_options import keys
from tests.unit import base

_VOLUME = keys.Scope.VOLUME
_TYPE = keys.Scope.TYPE


@ddt.ddt
class KeysTestCase(base.TestCase):
    @ddt.named_data(
        ['object_size', 'rbd:object_size', {_VOLUME, _TYPE}, True],
        ['stripe_unit', 'rbd:stripe_unit', {_VOLUME, _TYPE}, True],
        ['stripe_count', 'rbd:stripe_count', {_VOLUME, _TYPE}, True],
        ['object_map', 'rbd:object_map', {_VOLUME, _TYPE}, True],
        ['features', 'rbd:features', {_VOLUME, _TYPE}, True],
        ['cache_mode', 'rbd:cache_mode', {_VOLUME, _TYPE}, False],
        ['data_pool', 'rbd:data_pool', {_TYPE}, True],
        ['tenant_options', 'rbd:tenant_options', {_TYPE}, False],
    )
    def test_key(
        self, name: str, scopes: set[keys.Scope], fixed: bool
    ) -> None:
        key = keys.KEYS[name]
        self.assertEqual(name, key.name)
        self.assertEqual(scopes, key.scopes)
        self.assertIs(fixed, key.fixed)
        self.assertNotEqual('', key.summary)

    @ddt.named_data(
        ['layout', 'rbd:stripe_unit', 'stripe_unit', 'layout', 'stripe_unit'],
        ['size', 'rbd:object_size', 'object_size', 'layout', 'object_size'],
        ['object_map', 'rbd:object_map', 'object_map', 'features', None],
        ['features', 'rbd:features', 'features', 'features', 'features'],
        ['cache_mode', 'rbd:cache_mode', 'cache_mode', 'cache_mode', None],
        ['data_pool', 'rbd:data_pool', 'data_pool', None, 'data_pool'],
    )
    def test_what_stands_for_a_key(
        self, name: str, option: str, policy: str | None, attribute: str | None
    ) -> None:
        key = keys.KEYS[name]
        self.assertEqual(f'rbd_volume_{option}', key.option)
        self.assertEqual(key.option, key.capability)
        self.assertEqual(key.option, keys.OPTIONS[name])
        prefix = 'volume_extension:rbd_volume_options:set_'
        self.assertEqual(policy and f'{prefix}{policy}', key.policy)
        alias = 'os-rbd-volume-options'
        self.assertEqual(attribute and f'{alias}:{attribute}', key.attribute)

    def test_list_of_keys_for_tenants(self) -> None:
        key = keys.KEYS['rbd:tenant_options']
        self.assertEqual('rbd_tenant_options', key.option)
        self.assertIsNone(key.policy)
        self.assertIsNone(key.attribute)

    def test_there_are_no_others(self) -> None:
        self.assertEqual(
            {
                'rbd:object_size',
                'rbd:stripe_unit',
                'rbd:stripe_count',
                'rbd:object_map',
                'rbd:features',
                'rbd:cache_mode',
                'rbd:data_pool',
                'rbd:tenant_options',
            },
            set(keys.KEYS),
        )

    def test_all_begin_with_the_prefix(self) -> None:
        # The scheduler ignores only scoped extra specs.
        self.assertEqual('rbd:', keys.PREFIX)
        for name in keys.KEYS:
            self.assertTrue(name.startswith(keys.PREFIX), name)

    def test_names_for_a_message(self) -> None:
        in_a_volume = (
            'rbd:object_size, rbd:stripe_unit, rbd:stripe_count, '
            'rbd:object_map, rbd:features, rbd:cache_mode'
        )
        self.assertEqual(in_a_volume, keys.names(_VOLUME))
        self.assertEqual(in_a_volume, ', '.join(keys.VOLUME_KEYS))
        self.assertEqual(
            f'{in_a_volume}, rbd:data_pool, rbd:tenant_options',
            keys.names(_TYPE),
        )

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
        self.assertEqual('rbd:stripe_count', keys.normal(name))
        self.assertTrue(keys.is_ours(name))
        self.assertTrue(keys.is_misspelled(name))

    def test_exact_and_unknown_keys(self) -> None:
        for name in (*keys.KEYS, 'rbd:', 'rbd:other'):
            self.assertTrue(keys.is_ours(name), name)
            self.assertFalse(keys.is_misspelled(name), name)

    @ddt.data('', 'rbd', 'rb:x', 'rbd_stripe_count', 'x rbd:a', 'rbd :a')
    def test_keys_of_others(self, name: str) -> None:
        self.assertFalse(keys.is_ours(name))
        self.assertFalse(keys.is_misspelled(name))

    def test_too_long_for_cinder(self) -> None:
        """Without the limit, the last name would take 12 seconds."""
        for name in ('rbd:' + 'x' * 252, 'R' * 256, '\u0300\u0316' * 28_500):
            self.assertTrue(keys.normal(name) == name, name[:5])
            self.assertFalse(keys.is_ours(name), name[:5])
            self.assertFalse(keys.is_misspelled(name), name[:5])

    def test_longest(self) -> None:
        name = 'RBD:' + 'x' * 251
        self.assertEqual(name.lower(), keys.normal(name))
        self.assertTrue(keys.is_misspelled(name))

    def test_partner(self) -> None:
        self.assertEqual(keys.STRIPE_COUNT, keys.partner(keys.STRIPE_UNIT))
        self.assertEqual(keys.STRIPE_UNIT, keys.partner(keys.STRIPE_COUNT))
        self.assertIsNone(keys.partner(keys.OBJECT_SIZE))
