# SPDX-License-Identifier: Apache-2.0

"""Requests that copy images on the fake cluster.

The fake has no trash and runs no programs: a copy is made by a clone's method,
and an image that goes to the trash is removed.
"""

from collections.abc import Callable
import pathlib
import sys
from typing import Any

from cinder import objects
from cinder.db import api as db
import fixtures

import cinder_rbd_ext
from cinder_rbd_ext import admission
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.trash import entries
from rbd_volume_options import options
from rbd_volume_options import ownership
from tests.unit.cinder_rbd_ext import base

_PACKAGE = pathlib.Path(cinder_rbd_ext.__file__).parent
#: The code that a service can be killed or paused in.
CODE = (str(_PACKAGE / 'retype'), str(_PACKAGE / 'lifecycle' / 'migration'))

_LAYOUT = {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '8'}


class Killed(BaseException):
    """The service was killed."""


def at_line(number: int, act: Callable[[], None]) -> Callable[..., Any]:
    """Return a trace function that acts at a line of the code.

    :param number: of the executed lines; too high for none
    """
    passed = 0

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        nonlocal passed
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == 'line':
            passed += 1
            if passed == number:
                sys.settrace(None)
                act()
        return trace

    return trace


class CopyingTestCase(base.DriverTestCase):
    """Base class for tests of requests that copy an image."""

    def setUp(self) -> None:
        super().setUp()
        self.driver.host = 'test_host'
        #: What is in the trash instead: names of images by their fate.
        self.kept: list[str] = []
        self.obstacle = self._mocked(copies.Copy, 'obstacle')
        self.reserve = self._mocked(admission.Copies, '_reserve')
        for target, name, value in (
            (copies.Copy, 'make', self._make),
            (copies.Copy, 'complete', self._complete),
            (copies.Copy, 'compare', lambda *args: None),
            (entries, 'keep', self._keep),
            (entries, 'discard', self._discard),
            (self.driver._recovery, 'start', lambda *args: None),
        ):
            self.useFixture(fixtures.MockPatchObject(target, name, value))

    def _mocked(self, target: object, name: str) -> Any:
        patch = fixtures.MockPatchObject(
            target, name, autospec=True, return_value=None
        )
        return self.useFixture(patch).mock

    @staticmethod
    def _make(
        copy: copies.Copy,
        target: options.Values,
        report: Callable[[int], None],
    ) -> None:
        driver = copy._driver
        report(50)
        with driver.images.opened(copy._source, read_only=True) as image:
            entries.in_pool(
                driver,
                lambda ioctx: image.copy(
                    ioctx,
                    copy.name,
                    order=target.layout.object_size.bit_length() - 1,
                    stripe_unit=target.layout.stripe_unit,
                    stripe_count=target.layout.stripe_count,
                    data_pool=target.data_pool,
                ),
                copy.pool,
            )

    @staticmethod
    def _complete(copy: copies.Copy, target: options.Values) -> str:
        ident = copies.image_id(copy._driver, copy.name, copy.pool)
        assert ident is not None  # noqa: S101
        return ident

    def _keep(
        self, driver: Any, ioctx: Any, name: str, volume_id: str, delay: int
    ) -> None:
        driver.rbd.RBD().remove(ioctx, name)
        self.kept.append(name)

    def _discard(
        self, driver: Any, ioctx: Any, name: str, volume_id: str
    ) -> None:
        if ownership.id_of(ioctx, name) is not None:
            driver.rbd.RBD().remove(ioctx, name)

    def another_service(self, **options: Any) -> Any:
        """Return a service of the same back end, to which others are down."""
        other = self.make_driver(**options)
        other.host = self.driver.host
        return other

    def requested(self, is_migrated: bool = False) -> Any:
        """Return a volume whose retype or migration Cinder has accepted."""
        volume = self.made_volume()
        self.volume_id, self.former = volume.id, volume.name
        values = {'status': 'retyping', 'previous_status': 'available'}
        if is_migrated:
            values = {'migration_status': 'migrating'}
        self.update(volume, values)
        self.new_type = self.make_type(**_LAYOUT)
        self.is_migrated = is_migrated
        return objects.Volume.get_by_id(self.admin, volume.id)

    def run_request(self, volume: Any) -> bool:
        """Run the driver's part of the request, and what Cinder saves."""
        if self.is_migrated:
            return self._migrate(volume)
        try:
            done, update = self.driver.retype(
                self.context, volume, self.new_type, {}, None
            )
        except Exception:
            done, update = False, None
        values = {'status': 'available', **(update or {})}
        if done:
            values['volume_type_id'] = self.new_type.id
        self.update(volume, values)
        return bool(done)

    def _migrate(self, volume: Any) -> bool:
        host = {
            'host': 'there@ceph2#ceph2',
            'capabilities': {
                'storage_protocol': 'ceph',
                'location_info': f'ceph::{self.cluster.fsid}:cinder:volumes2',
                'rbd_volume_options': True,
                'rbd_tenant_options': [],
                'rbd_allowed_cache_modes': ['none'],
            },
        }
        try:
            done, _ = self.driver.migrate_volume(self.context, volume, host)
        except Exception:
            self.update(volume, {'migration_status': 'error'})
            return False
        if done:
            host_saved = {'host': host['host'], 'migration_status': 'success'}
            self.update(volume, host_saved)
        return bool(done)

    def row(self) -> Any:
        """Return the volume as in the database."""
        return objects.Volume.get_by_id(self.admin, self.volume_id)

    def images(self) -> list[str]:
        """Return the images of all pools."""
        return sorted(
            name
            for pool in ('volumes', 'volumes2')
            for name in self.cluster.names(pool)
        )

    def check_settled(self) -> None:
        """Check that the row names the only image, and nothing is left."""
        row = self.row()
        pool = 'volumes2' if row.host.startswith('there') else 'volumes'
        self.assertEqual([row.name], self.images())
        self.assertEqual([row.name], self.cluster.names(pool))
        self.assertIsNone(marker.read(row.admin_metadata))
        self.assertIsNone(row.provider_geometry)
        self.assertEqual('available', row.status)
        is_new = row.name != self.former
        self.assertEqual([self.former] if is_new else [], self.kept)
        if not self.is_migrated:
            has_type = row.volume_type_id == self.new_type.id
            self.assertEqual(is_new, has_type)

    def save_row(self, **values: Any) -> None:
        """Change the row of the volume, as another service does."""
        db.volume_update(self.admin, self.volume_id, values)
