# SPDX-License-Identifier: Apache-2.0

"""The help for operators agrees with the rules."""

import ddt

from horizon_volume_opts.type_specs import guide
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import registry
from tests.unit import base

_ENTRIES = guide.entries()


@ddt.ddt
class GuideTestCase(base.TestCase):
    def test_every_key_of_a_volume_type_and_no_other(self) -> None:
        wanted = {
            key.key
            for key in registry.OPTIONS.values()
            if keys.Scope.TYPE in key.scopes
        }
        self.assertEqual(wanted, set(_ENTRIES))

    @ddt.data(*_ENTRIES)
    def test_each_choice_is_one(self, key: str) -> None:
        other = registry.partner(key)
        for choice in _ENTRIES[key].choices:
            specs = {key: choice}
            if other:
                specs[other] = _ENTRIES[other].choices[0]
            options.parse(specs, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE)

    def test_allowed_is_what_refusals_say(self) -> None:
        entries = _ENTRIES
        self.assertEqual(
            layout.OBJECT_SIZE_ALLOWED, entries[keys.OBJECT_SIZE].allowed
        )
        self.assertEqual(
            layout.STRIPE_UNIT_ALLOWED, entries[keys.STRIPE_UNIT].allowed
        )
        self.assertIn('exclusive-lock', entries[keys.FEATURES].allowed)
