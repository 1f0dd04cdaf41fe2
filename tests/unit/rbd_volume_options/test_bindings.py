# SPDX-License-Identifier: Apache-2.0

from typing import Any

from rbd_volume_options import bindings
from tests.unit.rbd_volume_options import test_image_handles


class BindingsTest(test_image_handles.ImagesTestCase):
    """The fakes behave as Ceph's bindings, and have the same methods."""

    def _missing(self, protocol: type, thing: Any) -> set[str]:
        methods = {
            name
            for each in protocol.__mro__
            for name in vars(each)
            if not name.startswith('_')
        }
        return {name for name in methods if not hasattr(thing, name)}

    def test_open_image_has_all_methods(self) -> None:
        missing = self._missing(bindings.Image, self.image())
        self.assertEqual(set(), missing)

    def test_context_of_a_pool_has_all_methods(self) -> None:
        missing = self._missing(bindings.Ioctx, self.ioctx)
        self.assertEqual(set(), missing)

    def test_missing_methods_are_found(self) -> None:
        protocol = type('Protocol', (), {'clone': None})
        self.assertEqual({'clone'}, self._missing(protocol, self.ioctx))
