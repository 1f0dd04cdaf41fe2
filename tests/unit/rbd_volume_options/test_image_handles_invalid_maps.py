# SPDX-License-Identifier: Apache-2.0

"""Rebuild of invalid object maps before the removal of an image."""

from typing import Any

from rbd_volume_options import image_handles
from tests.unit import base

_SIZE = 8 << 30


class _Image:
    def __init__(self, used: int = 0, flags: int = 3, objects: int = 2048):
        self.rebuilt = False
        self._used = used
        self._flags = flags
        self._objects = objects

    def flags(self) -> int:
        return self._flags

    def get_name(self) -> str:
        return 'volume'

    def stat(self) -> dict[str, int]:
        return {'num_objs': self._objects, 'obj_size': 1, 'size': _SIZE}

    def diff_iterate(
        self, offset: int, length: int, since: None, callback: Any, **_: bool
    ) -> None:
        if offset < self._used * _SIZE // 32:
            callback(offset, length, True)

    def rebuild_object_map(self) -> None:
        self.rebuilt = True


class RebuildTest(base.TestCase):
    def test_rebuilds_large_sparse_images_only(self) -> None:
        image: Any
        for image, expected in (
            (_Image(), True),
            (_Image(used=15), True),
            (_Image(used=16), False),
            (_Image(flags=0), False),
            (_Image(objects=image_handles.FEWEST_OBJECTS - 1), False),
        ):
            self.assertIs(expected, image_handles.rebuild_map(image))
            self.assertIs(expected, image.rebuilt)
