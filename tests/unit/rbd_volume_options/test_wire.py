# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_options.wire: names that processes exchange."""

from rbd_volume_options import wire
from tests.unit import base

#: Prefixes of the names of items.
_ITEMS = (
    'ATTACH_REFUSED_',
    'AUDIT_',
    'CONVERSION_',
    'MARKER_',
)


class WireTestCase(base.TestCase):
    def _names(self) -> dict[str, object]:
        return {k: v for k, v in vars(wire).items() if k.isupper()}

    def test_no_two_names_are_the_same(self) -> None:
        """Two attributes or documents may have the same items."""
        values = [
            value
            for name, value in self._names().items()
            if not name.startswith(_ITEMS)
        ]
        self.assertEqual(len(values), len(set(values)))

    def test_options_and_capabilities_are_called_like_their_text(self) -> None:
        for name, value in self._names().items():
            if name.startswith('RBD_'):
                self.assertEqual(name.lower(), value)
