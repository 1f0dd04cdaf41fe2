# SPDX-License-Identifier: Apache-2.0


"""Operations on the image of a volume, under its lock."""

import time
from typing import Any
from unittest import mock

from cinder import exception
from cinder import objects
from cinder.tests.unit import utils as cinder_utils
from cinder.volume.drivers import rbd
import ddt
import fixtures
from oslo_config import cfg
import sqlalchemy
from sqlalchemy import event

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import locks
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.cluster import advisory_locks
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.imaging import open_image
from tests.unit.cinder_rbd_ext import base

_CONNECTOR: dict[str, Any] = {
    'host': 'compute',
    'rbd_host': {'modes': ['none']},
}
_SHARED = (
    'clone',
    'create_from_snapshot',
    'create_snapshot',
    'delete_snapshot',
    'extend',
    'connect',
    'flatten',
)
_ALONE = ('revert', 'reimage', 'reimage_from_snapshot', 'delete', 'migrate')


class UseTestCase(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.snapshot = self.new_snapshot(self.volume)
        # As after a request.
        self.snapshot = objects.Snapshot.get_by_id(
            self.context, self.snapshot.id
        )

    def operate(self, name: str) -> Any:
        """Run an operation of the driver on the volume."""
        snapshot = self.snapshot
        if name == 'reimage_from_snapshot':
            self.update(self.volume, {'status': 'downloading'})
        if name == 'create_snapshot':
            snapshot = cinder_utils.create_snapshot(
                self.context, self.volume.id
            )
        calls: dict[str, Any] = {
            'clone': lambda: self.driver.create_cloned_volume(
                self.new_volume(source_volid=self.volume.id), self.volume
            ),
            'create_from_snapshot': lambda: (
                self.driver.create_volume_from_snapshot(
                    self.new_volume(), snapshot
                )
            ),
            'create_snapshot': lambda: self.driver.create_snapshot(snapshot),
            'delete_snapshot': lambda: self.driver.delete_snapshot(snapshot),
            'extend': lambda: self.driver.extend_volume(self.volume, 2),
            'connect': lambda: self.driver.initialize_connection(
                self.volume, _CONNECTOR
            ),
            'flatten': lambda: self.driver._flatten(
                'volumes', self.volume.name
            ),
            'revert': lambda: self.driver.revert_to_snapshot(
                self.context, self.volume, snapshot
            ),
            'reimage': lambda: self.driver.copy_image_to_volume(
                self.context, self.volume, None, 'image', True
            ),
            'reimage_from_snapshot': lambda: (
                self.driver._create_temp_volume_from_snapshot(
                    self.context, self.volume, snapshot
                )
            ),
            'delete': lambda: self.driver.delete_volume(self.volume),
            'migrate': lambda: self.driver.migrate_volume(
                self.context, self.volume, {'host': 'x', 'capabilities': {}}
            ),
        }
        return calls[name]()

    def impatient(self) -> None:
        """Make each operation wait for a tenth of a second at most."""
        held = locks.Held

        def short(driver: Any, volume_id: str, until: float) -> Any:
            return held(driver, volume_id, min(until, time.monotonic() + 0.1))

        self._patch(f'{locks.__name__}.Held', short)


@ddt.ddt
class OperationsTest(UseTestCase):
    @ddt.data(*(name for name in _SHARED if name != 'flatten'))
    def test_operation_shares_the_lock(self, name: str) -> None:
        self.impatient()
        with self.locked(self.volume, advisory_locks.Kind.SHARED):
            self.operate(name)

    @ddt.data(*_SHARED, *_ALONE)
    def test_operation_waits_for_an_exclusive_holder(self, name: str) -> None:
        self.impatient()
        with self.locked(self.volume):
            error = self.raised(self.operate, name)
        expected: Any = locks.VolumeLocked
        if name == 'delete_snapshot':
            expected = exception.SnapshotIsBusy
        elif name == 'connect':
            expected = exception.InvalidVolume
        self.assertIsInstance(error, expected)

    @ddt.data(*_ALONE)
    def test_operation_needs_the_lock_alone(self, name: str) -> None:
        self.impatient()
        with self.locked(self.volume, advisory_locks.Kind.SHARED):
            error = self.raised(self.operate, name)
        self.assertIsInstance(error, locks.VolumeLocked)

    @ddt.data(
        ('revert', 'revert_to_snapshot'), ('reimage', '_copy_image_to_volume')
    )
    @ddt.unpack
    def test_late_request_does_not_replace_the_data_of_a_volume(
        self, name: str, stock: str
    ) -> None:
        """It was delivered twice, or its status was reset meanwhile."""
        self.volume.status = 'as requested'
        with mock.patch.object(rbd.RBDDriver, stock, autospec=True) as replace:
            self.assertRaises(
                exception.VolumeBackendAPIException, self.operate, name
            )
        replace.assert_not_called()

    @ddt.data('revert', 'reimage', 'reimage_from_snapshot')
    def test_only_the_log_names_the_clients_of_an_image(
        self, name: str
    ) -> None:
        self._patch(f'{open_image.__name__}.WATCHED_FOR', -1)
        log = self.useFixture(fixtures.FakeLogger())
        with mock.patch.object(
            lookup.ImageLookup, 'clients_of', lambda *_: ['203.0.113.5:0/9']
        ):
            error = self.assertRaises(locks.VolumeLocked, self.operate, name)
        self.assertIn('a client has the RBD image open', str(error))
        self.assertNotIn('203.0.113.5', str(error))
        self.assertIn('203.0.113.5:0/9', log.output)

    def test_snapshot_refers_to_the_volume_in_the_database(self) -> None:
        old = self.snapshot.volume
        self.update(self.volume, {'status': 'uploading'})
        self.assertEqual('available', old.status)
        self.operate('delete_snapshot')
        self.assertEqual('uploading', self.snapshot.volume.status)
        # Cinder saves the snapshot, which it refuses with another volume.
        self.snapshot.status = 'available'
        self.snapshot.save()

    # After an extension, keys that were changed meanwhile are read: of the
    # volume again, and of its type.
    @ddt.data(('create_snapshot', 1), ('delete_snapshot', 1), ('extend', 4))
    @ddt.unpack
    def test_few_statements_read_the_volume(
        self, name: str, expected: int
    ) -> None:
        statements: list[str] = []
        engine = sqlalchemy.engine.Engine

        def count(*args: Any) -> None:
            if args[2].startswith('SELECT') and 'EXISTS' not in args[2]:
                statements.append(args[2])

        event.listen(engine, 'before_cursor_execute', count)
        self.addCleanup(event.remove, engine, 'before_cursor_execute', count)
        snapshot = cinder_utils.create_snapshot(self.context, self.volume.id)
        statements.clear()
        if name == 'create_snapshot':
            self.driver.create_snapshot(snapshot)
        else:
            self.operate(name)
        self.assertEqual(expected, len(statements), '\n'.join(statements))


@ddt.ddt
class InterruptedTest(UseTestCase):
    @ddt.data(
        *('clone', 'create_from_snapshot', 'create_snapshot', 'extend'),
        'connect',
    )
    def test_operation_ends_a_retype_that_has_lost_its_lock(
        self, name: str
    ) -> None:
        """The copy lacks what the operation changes."""
        token = '00000000-1111-4222-8333-444444444444'
        self.update(self.volume, {'provider_geometry': token})
        self.operate(name)
        self.volume.refresh()
        self.assertIsNone(self.volume.provider_geometry)


@ddt.ddt
class MigratedTest(UseTestCase):
    """Requests that were sent to the back end that a volume has left."""

    def _check_refused(self, name: str) -> None:
        self.assertRaises(
            (locks.VolumeLocked, exceptions.AttachmentRefused),
            self.operate,
            name,
        )

    @ddt.data(
        *('clone', 'create_from_snapshot', 'create_snapshot', 'extend'),
        'connect',
    )
    def test_operation_on_the_former_image_is_refused(self, name: str) -> None:
        """Cinder reads some volumes only when the request arrives."""
        self.driver.host = self.volume.host
        self.update(self.volume, {'host': 'another@host#pool'})
        self._check_refused(name)

    def test_snapshot_of_another_back_end_is_cloned_where_cinder_may(
        self,
    ) -> None:
        """Two back ends can have the same pool."""
        cfg.CONF.set_override('snapshot_same_host', False)
        self.addCleanup(cfg.CONF.clear_override, 'snapshot_same_host')
        self.driver.host = self.volume.host
        self.update(self.volume, {'host': 'another@host#pool'})
        self.operate('create_from_snapshot')


class AttachingTest(base.DriverTestCase):
    def test_few_attachments_wait_for_the_lock_of_a_volume(self) -> None:
        attaching = volume_use.Attaching()
        waits: list[float] = []
        is_done: list[bool] = []

        def locked(driver: Any, volume: Any, wait: float) -> Any:
            waits.append(wait)
            if wait == volume_use.SHORT_WAIT and not is_done:
                # Another one comes while this one waits.
                self.assertRaises(locks.VolumeLocked, self._attach, attaching)
            raise locks.VolumeLocked(volume_id=volume.id)

        with mock.patch.object(locks, 'shared', locked):
            self.assertRaises(locks.VolumeLocked, self._attach, attaching)
            long = waits.count(volume_use.SHORT_WAIT)
            self.assertEqual(volume_use._MOST_WAITING, long)
            # All have left.
            is_done.append(True)
            self.assertRaises(locks.VolumeLocked, self._attach, attaching)
        self.assertEqual(long + 1, waits.count(volume_use.SHORT_WAIT))

    def _attach(self, attaching: volume_use.Attaching) -> None:
        with attaching.holding(self.driver, mock.Mock(id='volume')):
            pass
