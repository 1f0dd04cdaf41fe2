# SPDX-License-Identifier: Apache-2.0

"""The driver on the fake cluster, with Cinder's objects."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import pathlib
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.image import image_utils
from cinder.keymgr import conf_key_mgr  # noqa: F401 - registers options
from cinder.tests.unit import test
from cinder.tests.unit import utils as cinder_utils
from cinder.volume import configuration
from cinder.volume import driver as cinder_driver
from cinder.volume import qos_specs
from cinder.volume import volume_types
from cinder.volume.drivers import rbd as stock_rbd
import fixtures
from oslo_concurrency import processutils

from cinder_rbd_ext import driver
from cinder_rbd_ext import exceptions
from cinder_rbd_ext import locks
from cinder_rbd_ext import opts
from cinder_rbd_ext import record
from cinder_rbd_ext.cluster import advisory_locks
from rbd_volume_options import keys
from rbd_volume_options import registry
from tests.fakes import fake_commands
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import recorded

GIB = 1 << 30
ASKED = {
    keys.OBJECT_SIZE: '1M',
    keys.STRIPE_UNIT: '64K',
    keys.STRIPE_COUNT: '8',
}
#: The same layout in librbd: order, stripe unit and stripe count.
MADE = (20, 64 << 10, 8)

_ENCRYPTION = {
    'provider': 'luks',
    'cipher': 'aes-xts-plain64',
    'key_size': 256,
    'control_location': 'front-end',
}


class DriverTestCase(test.TestCase):
    """Base class for tests of the driver on a fake cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster(
            'volumes', 'volumes2', 'data', 'images'
        )
        self.librbd = fake_librbd.Librbd(self.cluster)
        self.commands = fake_commands.Commands(self.cluster)
        # The stock driver checks that the bindings are installed. os-brick,
        # which connects to the target of a migration, must use the same fakes.
        for name in (
            'cinder.volume.drivers.rbd',
            'os_brick.initiator.linuxrbd',
        ):
            self._patch(f'{name}.rados', self.cluster.rados)
            self._patch(f'{name}.rbd', self.librbd)
        self.log = self.useFixture(fixtures.FakeLogger())
        self.context = context.RequestContext('user', 'project')
        self.admin = context.get_admin_context()
        self._types = 0
        self.driver = self.make_driver()
        self.addCleanup(self._check_what_is_left)

    def _patch(self, name: str, value: object) -> None:
        self.useFixture(fixtures.MonkeyPatch(name, value))

    def _check_what_is_left(self) -> None:
        """Check that no test leaves open images or unused faults."""
        self.assertEqual([], self.cluster.ended)
        self.assertEqual([], self.cluster.open_images)
        self.assertEqual(set(), self.cluster.faults_left)

    def make_driver(
        self, cls: type[Any] = driver.RBDExtDriver, **options: Any
    ) -> Any:
        """Return a started driver with the given options."""
        group = f'{cls.__name__}-{options.get("rbd_pool", "volumes")}'
        settings = configuration.Configuration(
            cinder_driver.volume_opts, config_group=group
        )
        # Set these before the driver is created, which reads some only once.
        settings.append_config_values(stock_rbd.RBD_OPTS)
        settings.append_config_values(opts.backend_opts())
        values = {
            'volume_backend_name': 'ceph',
            'rbd_pool': 'volumes',
            'rbd_user': 'cinder',
            'rados_connection_interval': 0,
            'rados_connection_retries': 1,
            'num_shell_tries': 1,
            'rbd_tenant_options': ','.join(registry.volume_keys()),
            # The limits of librbd; separate tests cover lower limits.
            'rbd_min_object_size': '4K',
            'rbd_max_objects': 1 << 31,
            **options,
        }
        for name, value in values.items():
            self.override_config(name, value, group=group)
        made = cls(
            configuration=settings,
            db=db,
            execute=self.commands,
            rados=self.cluster.rados,
            rbd=self.librbd,
        )
        made.do_setup(self.admin)
        made.check_for_setup_error()
        made.set_initialized()
        return made

    def override_backend(self, name: str, value: Any) -> None:
        """Set an option of the driver's back end."""
        group = self.driver.configuration.config_group
        self.override_config(name, value, group=group)

    # Volumes

    def make_type(self, **specs: str) -> Any:
        """Create a volume type; ``rbd_x`` is the extra spec ``rbd:x``."""
        self._types += 1
        made = volume_types.create(
            self.admin,
            f'type-{self._types}',
            {k.replace('rbd_', 'rbd:', 1): v for k, v in specs.items()},
        )
        return objects.VolumeType.get_by_id(self.admin, made['id'])

    def qos_type(self, made: Any = None, **limits: str) -> Any:
        """Give a volume type QoS limits that the driver applies."""
        made = made or self.make_type()
        specs = qos_specs.create(
            self.admin, made.name, {'consumer': 'back-end', **limits}
        )
        qos_specs.associate_qos_with_type(self.admin, specs.id, made.id)
        return objects.VolumeType.get_by_id(self.admin, made.id)

    def new_volume(
        self,
        metadata: dict[str, str] | None = None,
        volume_type: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Create a volume in the database, without its RBD image."""
        volume_type = volume_type or self.make_type()
        return cinder_utils.create_volume(
            self.context,
            metadata=metadata,
            volume_type_id=volume_type.id,
            **kwargs,
        )

    def encrypted_volume(self, **kwargs: Any) -> Any:
        """Create a volume of an encrypted type, without its RBD image."""
        for name, value in (
            ('backend', 'cinder.keymgr.conf_key_mgr.ConfKeyManager'),
            ('fixed_key', 'a' * 64),
        ):
            self.override_config(name, value, group='key_manager')
        volume = self.new_volume(
            encryption_key_id='00000000-0000-0000-0000-000000000000', **kwargs
        )
        db.volume_type_encryption_create(
            self.admin, volume.volume_type_id, dict(_ENCRYPTION)
        )
        return volume

    def made_volume(self, *args: Any, **kwargs: Any) -> Any:
        """Create a volume with the driver."""
        volume = self.new_volume(*args, **kwargs)
        self.update(volume, self.driver.create_volume(volume))
        return volume

    @contextlib.contextmanager
    def retyping(self, volume: Any) -> Iterator[None]:
        """Set the status of a retype meanwhile, as Cinder's API does."""
        former = {'status': volume.status}
        requested = {'status': 'retyping', 'previous_status': volume.status}
        self.update(volume, requested)
        try:
            yield
        finally:
            self.update(volume, former)

    def locked(
        self,
        volume: Any,
        kind: advisory_locks.Kind = advisory_locks.Kind.EXCLUSIVE,
        pool: str = 'volumes',
    ) -> contextlib.AbstractContextManager[advisory_locks.Lock]:
        """Have another service hold the lock of the image of a volume."""
        key = (
            advisory_locks.HEADER
            + self.cluster.stored(volume.name, pool).ident
        )
        return self._lock_held(key, locks._IMAGE, kind, pool)

    def name_locked(
        self, name: str
    ) -> contextlib.AbstractContextManager[advisory_locks.Lock]:
        """Have another service hold the lock of a name."""
        lock = locks._NAME + name
        kind = advisory_locks.Kind.EXCLUSIVE
        return self._lock_held(locks._DIRECTORY, lock, kind)

    @contextlib.contextmanager
    def _lock_held(
        self,
        key: str,
        name: str,
        kind: advisory_locks.Kind,
        pool: str = 'volumes',
    ) -> Iterator[advisory_locks.Lock]:
        with self.cluster.connected(pool) as ioctx:
            lock = advisory_locks.Lock(
                self.cluster.rados, ioctx, key, name, kind
            )
            self.assertEqual(0, lock.take())
            try:
                yield lock
            finally:
                lock.release()

    def update(self, volume: Any, changes: dict[str, Any] | None) -> None:
        """Save a driver's model update, as Cinder's manager does."""
        if changes:
            volume.update(changes)
            volume.save()

    def new_snapshot(self, volume: Any) -> Any:
        """Create a snapshot with the driver."""
        made = cinder_utils.create_snapshot(
            self.context,
            volume.id,
            status='available',
            volume_size=volume.size,
        )
        snapshot = objects.Snapshot.get_by_id(self.context, made.id)
        self.driver.create_snapshot(snapshot)
        return snapshot

    def glance_image(self, **metadata: str) -> tuple[str, None]:
        """Create a Glance image with 8 MiB objects; return its location."""
        with self.cluster.connected('images') as ioctx:
            self.librbd.RBD().create(ioctx, 'glance', GIB, order=23)
            with self.librbd.Image(ioctx, 'glance') as image:
                image.create_snap('snap')
                image.protect_snap('snap')
        self.cluster.stored('glance', 'images').metadata.update(metadata)
        return f'rbd://{self.cluster.fsid}/images/glance/snap', None

    def glance_download(self, disk_format: str = 'raw') -> None:
        """Replace Cinder's download of Glance images."""

        def fetch(*args: Any, **kwargs: Any) -> None:
            pathlib.Path(args[3]).write_bytes(b'content')

        self._patch('cinder.image.image_utils.fetch_to_raw', fetch)
        self.assertIs(fetch, image_utils.fetch_to_raw)

    def fill(self, name: str, pool: str = 'volumes') -> None:
        """Do nothing: the fake cluster does not copy the content."""

    # State

    @contextlib.contextmanager
    def opened(
        self, name: str, pool: str = 'volumes', read_only: bool = True
    ) -> Iterator[Any]:
        """Open an RBD image."""
        with (
            self.cluster.connected(pool) as ioctx,
            self.librbd.Image(ioctx, name, read_only=read_only) as image,
        ):
            yield image

    def layout_of(self, name: str, pool: str = 'volumes') -> tuple[int, ...]:
        """Return the order, stripe unit and stripe count of an RBD image."""
        stored = self.cluster.stored(name, pool)
        return stored.order, stored.unit, stored.count

    def snapshots_of(self, name: str) -> list[str]:
        """Return the names of the snapshots of an RBD image."""
        return [s.name for s in self.cluster.stored(name).snapshots]

    def recorded(self, volume: Any) -> dict[str, str]:
        """Return the record of a volume, and its admin metadata."""
        return recorded.items_of(record.stored(volume.id))

    def told(self, volume: Any) -> str:
        """Return the last reason, as a user message shows it."""
        return recorded.reason_of(record.stored(volume.id))

    def raised(self, call: Callable[..., Any], *args: Any) -> Exception:
        """Return the exception of a call, without references to its frames."""
        try:
            call(*args)
        except Exception as error:
            return error
        raise AssertionError('nothing was raised')

    def cause(self, call: Callable[..., Any], *args: Any) -> BaseException:
        """Return the cause of a failed creation.

        The exception itself must be of a class that Cinder's flows catch.
        """
        error = self.raised(call, *args)
        self.assertIsInstance(
            error,
            (exception.CinderException, processutils.ProcessExecutionError),
        )
        if not isinstance(error, exceptions.ImageNotMade):
            return error
        cause: BaseException | None = error.__cause__
        if cause is None:
            raise AssertionError('there is no cause')
        self.assertIn(str(cause), str(error))
        return cause
