# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder import exception
from cinder import objects
from cinder.db import api as db

from cinder_rbd_ext import late_request
from tests.unit.cinder_rbd_ext import base


class LateRequestTest(base.DriverTestCase):
    """What Cinder's manager saves after the driver's part of a request."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.new_volume(status='retyping')

    def _row(self) -> Any:
        return objects.Volume.get_by_id(self.admin, self.volume.id)

    def _changed(self) -> None:
        """Change the status as another service does."""
        db.volume_update(self.admin, self.volume.id, {'status': 'in-use'})

    def _end(self) -> None:
        self.update(self.volume, {'status': 'available', 'size': 7})

    def test_status_is_saved_with_the_other_columns(self) -> None:
        late_request.guard(self.volume)
        self._end()
        self.assertEqual(
            ('available', 7), (self._row().status, self._row().size)
        )

    def test_nothing_is_saved_if_the_status_has_changed(self) -> None:
        late_request.guard(self.volume)
        self._changed()
        self._end()
        self.assertEqual(('in-use', 1), (self._row().status, self._row().size))
        self.assertEqual(set(), self.volume.obj_what_changed())

    def test_only_the_next_status_is_guarded(self) -> None:
        late_request.guard(self.volume)
        self._end()
        self._changed()
        self.update(self.volume, {'status': 'error'})
        self.assertEqual('error', self._row().status)

    def test_other_columns_are_saved_in_any_case(self) -> None:
        late_request.guard(self.volume)
        self._changed()
        self.update(self.volume, {'size': 7})
        self.assertEqual(('in-use', 7), (self._row().status, self._row().size))

    def test_request_that_has_ended_saves_nothing_and_does_not_begin_again(
        self,
    ) -> None:
        error = late_request.ended(self.volume)
        self.assertIn(self.volume.id, str(error))
        self._end()
        self.assertEqual('retyping', self._row().status)
        for call in (
            lambda: late_request.check(self.volume),
            lambda: late_request.guard(self.volume),
        ):
            self.assertRaises(exception.VolumeBackendAPIException, call)
