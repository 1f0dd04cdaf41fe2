# SPDX-License-Identifier: Apache-2.0

"""Deferred deletion."""

import datetime
import errno
from typing import Any
from unittest import mock

from cinder_rbd_ext.lifecycle import trash
from tests.fakes import fake_images
from tests.unit import base

_IOCTX: Any = None
_NOW = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)


class _Rbd:
    """Records the calls for an image that has snapshots."""

    def __init__(self, until: datetime.datetime = _NOW) -> None:
        self.called: list[str] = []
        self._until = until

    def trash_move(self, ioctx: Any, name: str, delay: int) -> None:
        self.called.append(f'move for {delay}')

    def trash_get(self, ioctx: Any, image_id: str) -> dict[str, Any]:
        return {'id': image_id, 'deferment_end_time': self._until}


class DeferralTest(base.TestCase):
    def test_uninspected_image_is_moved_to_trash(self) -> None:
        """An image is moved, too, if it could not be inspected."""
        rbd: Any = _Rbd()
        deferral = trash.Deferral(fake_images, 7)
        deferral.remove(rbd, _IOCTX, 'volume')
        self.assertEqual(['move for 7'], rbd.called)

    def test_clones_are_flattened_first(self) -> None:
        rbd: Any = _Rbd()
        deferral = trash.Deferral(fake_images, 7)
        deferral.has_snapshots = True
        self.assertRaises(
            fake_images.ImageHasSnapshots,
            deferral.remove,
            rbd,
            _IOCTX,
            'volume',
        )
        deferral.remove(rbd, _IOCTX, 'volume')
        self.assertEqual(['move for 7'], rbd.called)


class PurgeTest(base.TestCase):
    def _open(self, image: Any) -> None:
        self.fail('opened')

    def test_image_whose_delay_has_passed_can_still_be_excluded(self) -> None:
        purge = trash.Purge(None, self._open, lambda entry: entry['id'] == '7')
        rbd: Any = _Rbd()
        removal = purge.removing(rbd, _IOCTX, '7')
        self.assertRaises(PermissionError, removal.__enter__)

    def test_not_expired(self) -> None:
        """The stock driver expects this error."""
        purge = trash.Purge(None, self._open, lambda entry: None)
        rbd: Any = _Rbd(_NOW + datetime.timedelta(days=1))
        removal = purge.removing(rbd, _IOCTX, '')
        self.assertRaises(PermissionError, removal.__enter__)
        self.assertFalse(purge.is_lost)

    def test_lost_connection(self) -> None:
        purge = trash.Purge(fake_images, self._open, lambda entry: None)
        lost = fake_images.OSError('lost')
        lost.errno = errno.ESHUTDOWN
        rbd = mock.Mock(spec=['trash_get'])
        rbd.trash_get.side_effect = lost
        self.assertRaises(
            fake_images.OSError, purge.removing(rbd, _IOCTX, '').__enter__
        )
        self.assertTrue(purge.is_lost)
