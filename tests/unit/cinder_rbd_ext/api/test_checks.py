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

"""Unit tests of cinder_rbd_ext.api.checks that do not use HTTP."""

import dataclasses

from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import offers
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import options
from tests.unit import base
from tests.unit.cinder_rbd_ext.api import base as api_base

_STRIPED = options.VolumeOptions(striping=layout.Striping(4096, 8))


class ChecksTest(base.TestCase):
    """Direct calls of the checks."""

    def test_ours_picks_valid_rbd_items(self) -> None:
        for items, wanted in (
            (None, {}),
            ({}, {}),
            ({'a': 1}, {}),
            ({'rbd:x': '1', 'a': 1}, {'rbd:x': '1'}),
            ({'rbd:x': 1}, None),
            ([], None),
            ('rbd:x', None),
        ):
            self.assertEqual(wanted, checks.ours(items))

    def test_whole_number(self) -> None:
        maximum = (1 << 31) - 1
        for given, wanted in (
            (1, 1),
            ('12', 12),
            (maximum, maximum),
            (maximum + 1, None),
            (int('9' * 4300), None),
            ('9' * 4300, None),
            ('9' * 4301, None),
            (float('inf'), None),
            (0, None),
            (-1, None),
            ('x', None),
            (None, None),
        ):
            found = checks.whole_number(given)
            self.assertTrue(found == wanted, f'{given!s:.20}')

    def test_changed_lists_added_removed_and_replaced_keys(self) -> None:
        before = {'same': '1', 'other': '1', 'gone': '1'}
        after = {'same': '1', 'other': '2', 'new': '1'}
        self.assertEqual(
            {'other', 'gone', 'new'}, checks.changed(before, after)
        )

    def test_defaults_of_a_back_end_count(self) -> None:
        offer = offers.TypeOffer({}, (api_base.settings(_STRIPED),))
        asked = {'rbd:object_size': '4K'}
        checks.check_created(offer, asked, 1, volume_source.Source())
        # The API does not check what it does not know.
        source = volume_source.Source(known=False)
        checks.check_created(offer, asked, 1, source)

    def test_what_cephs_configuration_gives_counts(self) -> None:
        """The object map or striping that fails comes from Ceph's options."""
        for given, asked, size, reason in (
            (
                {'ceph_features': frozenset({'object-map'})},
                {'rbd:object_size': '4K'},
                2048,
                '256,000,000',
            ),
            (
                {'ceph_striping': layout.Striping(65536, 2)},
                {'rbd:object_size': '32K'},
                1,
                'not a factor of the object size',
            ),
        ):
            plain = api_base.settings()
            settings = dataclasses.replace(plain, **given)
            error = self.assertRaises(
                errors.OptionError,
                checks.check_created,
                offers.TypeOffer({}, (settings,)),
                asked,
                size,
                volume_source.Source(),
            )
            self.assertIn(reason, str(error))
            self.assertIn('Ceph configuration', str(error))
            unknown = offers.TypeOffer({}, (plain,))
            checks.check_created(unknown, asked, size, volume_source.Source())
