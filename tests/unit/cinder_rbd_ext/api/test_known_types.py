# SPDX-License-Identifier: Apache-2.0

"""Unit tests of cinder_rbd_ext.api.known_types."""

from typing import Any

from cinder.volume import volume_types

from cinder_rbd_ext.api import known_types
from tests.unit.cinder_rbd_ext.api import base


class KnownTypesTest(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 1000.0
        self.known = known_types.KnownTypes(lambda: self.now)
        self.read = self.mock_object(
            volume_types,
            'get_all_types',
            autospec=True,
            side_effect=volume_types.get_all_types,
        )

    def _specs(self) -> dict[str, Any]:
        found = self.known.all()
        self.assertIsNotNone(found)
        return {each.name: dict(each.specs) for each in found or ()}

    def test_all_types(self) -> None:
        """Private types of any project are among them."""
        ident = self.private_type('secret', rbd__object_map='true')
        found = self._specs()
        self.assertEqual({'rbd:object_map': 'true'}, found['secret'])
        self.assertEqual(base.TYPES['striped'], found['striped'])
        self.assertIn(ident, {each.ident for each in self.known.all() or ()})

    def test_read_every_few_seconds(self) -> None:
        for seconds, reads in ((0, 1), (4.9, 1), (5, 2), (9.9, 2)):
            self.now = 1000.0 + seconds
            self._specs()
            self.assertEqual(reads, self.read.call_count)

    def test_change_is_seen_once_types_are_forgotten(self) -> None:
        self._specs()
        self.set_specs('any', rbd__object_map='true')
        self.assertEqual({}, self._specs()['any'])
        self.known.forget()
        self.assertEqual({'rbd:object_map': 'true'}, self._specs()['any'])

    def test_change_while_they_are_read(self) -> None:
        """What was read before the change is not kept."""

        def read(*args: Any, **kwargs: Any) -> Any:
            # Another request does not wait.
            self.assertIsNone(self.known.all())
            self.known.forget()
            self.read.side_effect = None
            return []

        self.read.side_effect = read
        self.read.return_value = []
        for reads in (1, 2, 2):
            self.assertEqual((), self.known.all())
            self.assertEqual(reads, self.read.call_count)
