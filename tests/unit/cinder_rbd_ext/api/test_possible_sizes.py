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

"""Unit tests of cinder_rbd_ext.api.possible_sizes."""

import itertools

from cinder_rbd_ext.api import possible_sizes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import limits
from tests.unit import base

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
            possible_sizes.check(
                {k: v for k, v in specs.items() if v is not None},
                image_layout,
                names,
                limits.Limits(),
                errors.Origin.VOLUME_TYPE,
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
            image_layout = layout.ImageLayout.of(4 * _MIB, _MIB, count)
            self.assertIs(
                some,
                self._passes(str(low), str(high), image_layout),
                f'{count} {low} {high}',
            )

    def test_no_bounds(self) -> None:
        striped = layout.ImageLayout.of(4 * _MIB, _MIB, 61)
        for low, high in ((None, None), ('1', None), ('x', 'y')):
            self.assertTrue(self._passes(low, high, striped))

    def test_numbers_that_are_too_long(self) -> None:
        """No volume has such a size, and Python can not print all of them."""
        striped = layout.ImageLayout.of(4 * _MIB, _MIB, 3)
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
