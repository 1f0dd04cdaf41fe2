# SPDX-License-Identifier: Apache-2.0

import dataclasses
import itertools

from rbd_volume_options import checks
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import offers
from rbd_volume_options import operator_limits
from tests import option_values
from tests.unit import base
from tests.unit.rbd_volume_options import back_end

_STRIPED = option_values.level(
    errors.Origin.BACKEND, striping=layout.Striping(4096, 8)
)


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

    def test_defaults_of_a_back_end_count(self) -> None:
        offer = offers.TypeOffer({}, (back_end.settings(_STRIPED),))
        metadata = {'rbd:object_size': '4K'}
        checks.check_created(offer, metadata, 1, checks.VolumeSource())
        # The API does not check what it does not know.
        source = checks.VolumeSource(known=False)
        checks.check_created(offer, metadata, 1, source)

    def test_what_cephs_configuration_gives_counts(self) -> None:
        """The object map or striping that fails comes from Ceph's options."""
        for of_ceph, metadata, size, reason in (
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
            plain = back_end.settings()
            settings = dataclasses.replace(plain, **of_ceph)
            error = self.assertRaises(
                errors.OptionError,
                checks.check_created,
                offers.TypeOffer({}, (settings,)),
                metadata,
                size,
                checks.VolumeSource(),
            )
            self.assertIn(reason, str(error))
            self.assertIn('Ceph configuration', str(error))
            unknown = offers.TypeOffer({}, (plain,))
            checks.check_created(
                unknown, metadata, size, checks.VolumeSource()
            )


_GIB = 1 << 30
_MIB = 1 << 20


class CheckTest(base.TestCase):
    """Tests against all sizes that the type allows."""

    def _passes(
        self,
        low: str | None,
        high: str | None,
        image_layout: layout.ImageLayout,
        names: frozenset[str] = frozenset(),
    ) -> bool:
        specs = {
            'provisioning:min_vol_size': low,
            'provisioning:max_vol_size': high,
        }
        try:
            checks.check_sizes(
                {k: v for k, v in specs.items() if v is not None},
                image_layout,
                names,
                operator_limits.Limits(),
            )
        except errors.OptionError:
            return False
        return True

    def test_bounds_hold_a_size_of_whole_stripes(self) -> None:
        for count, low, high in itertools.product(
            (1, 3, 5, 8), (1, 2, 4), (1, 4, 5, 7)
        ):
            some = any(
                not size * _GIB % (_MIB * count)
                for size in range(low, high + 1)
            )
            image_layout = layout.ImageLayout.from_numbers(
                4 * _MIB, _MIB, count
            )
            self.assertIs(
                some,
                self._passes(str(low), str(high), image_layout),
                f'{count} {low} {high}',
            )

    def test_no_bounds(self) -> None:
        striped = layout.ImageLayout.from_numbers(4 * _MIB, _MIB, 61)
        for low, high in ((None, None), ('1', None), ('x', 'y')):
            self.assertTrue(self._passes(low, high, striped))

    def test_numbers_that_are_too_long(self) -> None:
        """No volume has such a size, and Python can not print all of them."""
        striped = layout.ImageLayout.from_numbers(4 * _MIB, _MIB, 3)
        tiny = layout.ImageLayout(4096)
        names = frozenset({features.OBJECT_MAP})
        for digits in (400, 4295, 4300, 4301):
            number = '9' * digits
            self.assertTrue(self._passes(number, None, striped))
            self.assertTrue(self._passes('1', number, striped))
            self.assertTrue(self._passes(f'-{number}', None, striped))
            # A minimum that is not a number is ignored, as in Cinder.
            unread = digits > 4300
            self.assertIs(unread, self._passes(number, None, tiny, names))

    def test_object_map(self) -> None:
        tiny = layout.ImageLayout(4096)
        names = frozenset({features.OBJECT_MAP})
        self.assertTrue(self._passes('512', None, tiny, names))
        self.assertFalse(self._passes('2048', None, tiny, names))
        self.assertTrue(self._passes('2048', None, tiny))
