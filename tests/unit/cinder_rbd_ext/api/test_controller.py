# SPDX-License-Identifier: Apache-2.0

from cinder.volume import volume_types

from cinder_rbd_ext.api import controller
from rbd_volume_options import wire
from tests.unit import base


class ControllerTest(base.TestCase):
    def test_part_of_a_body_is_an_object(self) -> None:
        bodies: list[object] = [
            None,
            [],
            {},
            {'volume': None},
            {'volume': 'x'},
        ]
        for body in bodies:
            self.assertEqual({}, controller.part_of(body, 'volume'))
        self.assertEqual(
            {'size': 1}, controller.part_of({'volume': {'size': 1}}, 'volume')
        )

    def test_whole_number(self) -> None:
        maximum = (1 << 31) - 1
        for value, wanted in (
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
            number = controller.whole_number(value)
            self.assertTrue(number == wanted, f'{value!s:.20}')

    def test_sizes_of_a_type_have_the_names_of_cinder(self) -> None:
        self.assertEqual(volume_types.MIN_SIZE_KEY, wire.MINIMUM_SIZE)
        self.assertEqual(volume_types.MAX_SIZE_KEY, wire.MAXIMUM_SIZE)
