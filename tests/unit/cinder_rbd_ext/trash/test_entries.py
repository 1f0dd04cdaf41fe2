# SPDX-License-Identifier: Apache-2.0

"""Images in the trash; most tests of them are functional."""

import datetime
from typing import Any
from unittest import mock

from cinder_rbd_ext.trash import entries
from rbd_volume_options import trash_mark
from tests.unit.cinder_rbd_ext import base

_NOW = datetime.datetime(2026, 1, 1)


class MarksTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.item: dict[str, Any] = {
            'id': '10ab',
            'name': 'volume',
            'source': 'USER',
            'deletion_time': _NOW,
            'deferment_end_time': _NOW,
        }
        self.listed = self.patch(
            f'{entries.__name__}.trash_of', return_value=[self.item]
        )
        at = _NOW.replace(tzinfo=datetime.timezone.utc).timestamp()
        mark = trash_mark.Mark(trash_mark.KEPT, 'project', 'id', 1, at)
        self.read = self.patch(
            f'{trash_mark.__name__}.read', return_value=(mark, '')
        )
        self.patch(f'{trash_mark.__name__}.size_of', return_value=1)
        self.marks = entries.Marks(self.driver)

    def _ids(self) -> list[str]:
        ioctx: Any = mock.Mock()
        return [entry.image_id for entry in self.marks.entries(ioctx)]

    def test_mark_of_an_image_is_read_once(self) -> None:
        self.assertEqual(['10ab'], self._ids())
        self.assertEqual(['10ab'], self._ids())
        self.read.assert_called_once()
        self.listed.return_value = []
        self.assertEqual([], self._ids())
        self.assertEqual({}, self.marks._known)

    def test_image_that_was_moved_again_later_is_not_ours(self) -> None:
        self.item['deletion_time'] += datetime.timedelta(hours=1)
        self.assertEqual([], self._ids())

    def test_image_without_a_mark_is_not_ours(self) -> None:
        self.read.return_value = (None, '')
        self.assertEqual([], self._ids())


class TrashTest(base.DriverTestCase):
    def test_trash_is_listed_up_to_the_source_of_a_migration(self) -> None:
        """The binding of Ceph 16 stops there with an error."""

        def listed(ioctx: Any) -> Any:
            yield {'id': '1', 'source': 'USER'}
            yield {'id': '2', 'source': 'MIGRATION'}
            raise IndexError

        librbd = mock.Mock()
        librbd.RBD.return_value.trash_list = listed
        ioctx: Any = mock.Mock()
        ids = [item['id'] for item in entries.trash_of(librbd, ioctx)]
        self.assertEqual(['1'], ids)
        self.assertIn('Could not read the whole trash', self.log.output)
