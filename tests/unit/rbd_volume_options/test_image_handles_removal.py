# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

import ddt

from rbd_volume_options import image_handles
from tests import feature_bits
from tests.unit import base

_MAP = feature_bits.LOCK | feature_bits.MAP | feature_bits.FAST_DIFF


class _Image:
    """An image of librbd, as far as its cost is read."""

    def __init__(
        self,
        objects: int = image_handles.MANY,
        features: int = _MAP,
        flags: int = 0,
        extents: tuple[int, ...] = (),
    ) -> None:
        self._objects = objects
        self._features = features
        self._flags = flags
        self._found = extents
        self.counted = 0

    def stat(self) -> dict[str, int]:
        return {
            'size': self._objects << 22,
            'num_objs': self._objects,
            'obj_size': 1 << 22,
        }

    def flags(self) -> int:
        return self._flags

    def features(self) -> int:
        return self._features

    def diff_iterate(
        self, offset: int, length: int, since: None, callback: Any, **_: bool
    ) -> None:
        for objects in self._found:
            self.counted += 1
            callback(0, objects << 22, True)


class SizeTest(base.TestCase):
    """An image that is larger than its volume by a LUKS header."""

    def setUp(self) -> None:
        super().setUp()
        self.image: Any = mock.Mock(spec=['size', 'diff_iterate'])

    def test_room_for_a_header_is_less_than_a_gibibyte(self) -> None:
        for size, expected in (
            (1 << 30, False),
            ((1 << 30) + 1, True),
            ((2 << 30) - 1, True),
            (2 << 30, False),
        ):
            self.image.size.return_value = size
            self.assertIs(
                expected,
                image_handles.has_room_for_header(self.image, 1 << 30),
            )

    def test_data_beyond_the_size_of_the_volume_are_found(self) -> None:
        self.image.size.return_value = (1 << 30) + 4096

        def report(
            offset: int, length: int, since: None, add: Any, **_: bool
        ) -> None:
            self.assertEqual((1 << 30, 4096), (offset, length))
            for each in written:
                add(each, 512, True)

        self.image.diff_iterate.side_effect = report
        written: list[int] = []
        self.assertFalse(image_handles.has_data_beyond(self.image, 1))
        written.append((1 << 30) + 1024)
        self.assertTrue(image_handles.has_data_beyond(self.image, 1))
        self.assertFalse(image_handles.has_data_beyond(self.image, 2))


@ddt.ddt
class CostTest(base.TestCase):
    @ddt.data(
        (_Image(objects=image_handles.MANY - 1, features=0), False),
        (_Image(features=0), True),
        (_Image(features=feature_bits.LOCK), True),
        (_Image(flags=1), True),
        (_Image(), False),
        (_Image(extents=(1,) * (image_handles.MANY - 1)), False),
        (_Image(extents=(1,) * image_handles.MANY), True),
        (_Image(extents=(image_handles.MANY,)), True),
    )
    @ddt.unpack
    def test_objects_to_remove(self, image: Any, expected: bool) -> None:
        self.assertIs(expected, image_handles.is_slow_to_remove(image))

    def test_counting_ends_early(self) -> None:
        image: Any = _Image(extents=(1,) * 3 * image_handles.MANY)
        self.assertTrue(image_handles.is_slow_to_remove(image))
        self.assertEqual(image_handles.MANY, image.counted)

    def test_samples_with_data_are_counted(self) -> None:
        image: Any = mock.Mock(spec=['stat', 'diff_iterate'])
        image.stat.return_value = {'size': 64 << 22, 'obj_size': 1 << 22}

        def report(
            offset: int, length: int, since: None, add: Any, **_: bool
        ) -> None:
            if offset < 10 << 22:
                add(offset, length, True)

        image.diff_iterate.side_effect = report
        # Every second object is looked at.
        self.assertEqual(5, image_handles.used_samples(image))
