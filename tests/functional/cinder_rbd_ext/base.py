# SPDX-License-Identifier: Apache-2.0

"""Base class for tests of the drivers with real Ceph and Cinder objects."""

from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
import subprocess
from typing import Any

from cinder import context
from cinder import objects
from cinder import privsep
from cinder import utils
from cinder.db import api as db
from cinder.keymgr import conf_key_mgr  # noqa: F401 - registers options
from cinder.tests.unit import test
from cinder.tests.unit import utils as cinder_utils
from cinder.volume import configuration
from cinder.volume import driver as cinder_driver
from cinder.volume import volume_types
from cinder.volume.drivers import rbd as stock_rbd
import fixtures
from oslo_utils import units
import rbd

from cinder_rbd_ext import driver
from cinder_rbd_ext import opts
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from rbd_volume_options import image_handles
from rbd_volume_options import keys
from rbd_volume_options import registry
from tests import feature_bits
from tests.functional import ceph
from tests.unit import recorded

_SHIMS = (
    pathlib.Path(__file__).resolve().parents[3] / 'tools/sandbox_cloud/shims'
)

#: The default metadata of a volume.
ASKED = {
    keys.STRIPE_UNIT: '64K',
    keys.STRIPE_COUNT: '8',
    keys.OBJECT_SIZE: '1M',
    keys.OBJECT_MAP: 'true',
}
MADE = {
    'object_size': units.Mi,
    'stripe_unit': 64 * units.Ki,
    'stripe_count': 8,
}

FIXED_KEY = 'a' * 64
NO_KEY_ID = '00000000-0000-0000-0000-000000000000'

# Parsed options keep the operator's text unchanged.
ALL_TENANT_KEYS = ','.join(registry.volume_keys())


def _disconnect(made: Any) -> None:
    """Close the connections of a driver, as replaced ones are closed.

    stestr keeps all tests until its end, and each connection has 12 threads.
    """
    for connection in made.sharing._current.values():
        if connection.rados is not None:
            releases.in_thread(releases.unwrapped(connection.rados).shutdown)


class ImageService:
    """A fake image service with one Glance image to download."""

    #: Cinder's cache of downloaded images.
    temp_images = None

    def __init__(self, path: pathlib.Path, disk_format: str) -> None:
        self._path = path
        self._format = disk_format

    def show(self, context: Any, image_id: str) -> dict[str, Any]:
        """Return the metadata of the image."""
        return {
            'id': image_id,
            'disk_format': self._format,
            'container_format': 'bare',
            'status': 'active',
            'size': self._path.stat().st_size,
            'properties': {},
        }

    def download(self, context: Any, image_id: str, data: Any = None) -> None:
        """Write the content of the image to a file."""
        data.write(self._path.read_bytes())


class DriverTestCase(test.TestCase):
    """A driver on the shared cluster, and volumes in Cinder's database."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        self.context = context.RequestContext(
            'user', 'project', is_admin=False
        )
        self.admin = context.get_admin_context()
        self.tmp = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.override_config('image_conversion_dir', str(self.tmp))
        # Run the real qemu-img from this process, which is already root.
        privsep.sys_admin_pctxt.set_client_mode(False)
        self.addCleanup(privsep.sys_admin_pctxt.set_client_mode, True)
        # See the shim: qemu-img fails on some machines because of the clock.
        self.useFixture(
            fixtures.EnvironmentVariable(
                'PATH', f'{_SHIMS}{os.pathsep}{os.environ["PATH"]}'
            )
        )
        self._types = 0
        self._backends = 0
        self.driver = self.make_driver()

    def empty_trash(self) -> None:
        """Remove the former images of volumes, whatever their delay."""
        ioctx = self.cluster.ioctx()
        for entry in list(rbd.RBD().trash_list(ioctx)):
            with rbd.Image(ioctx, image_id=entry['id']) as image:
                for name in image_handles.snapshot_names(image):
                    image_handles.remove_snapshot(image, name)
            rbd.RBD().trash_remove(ioctx, entry['id'], True)

    def make_driver(
        self,
        cls: type[stock_rbd.RBDDriver] = driver.RBDExtDriver,
        pool: str = 'volumes',
        **options: Any,
    ) -> Any:
        """Return an initialized driver with its own options."""
        # A group for each driver, so that their options do not mix.
        self._backends += 1
        group = f'{cls.__name__}-{pool}-{self._backends}'
        settings = configuration.Configuration(
            cinder_driver.volume_opts, config_group=group
        )
        # Set these before the driver is created, which reads some only once.
        settings.append_config_values(stock_rbd.RBD_OPTS)
        settings.append_config_values(opts.backend_opts())
        values = {
            'volume_backend_name': group,
            'rbd_pool': pool,
            'rbd_user': 'admin',
            'rbd_ceph_conf': self.cluster.conf,
            'rados_connection_interval': 0,
            **options,
        }
        if cls is driver.RBDExtDriver:
            values.setdefault('rbd_tenant_options', ALL_TENANT_KEYS)
            # Everything that librbd supports. The limits have their own tests.
            values.setdefault('rbd_min_object_size', '4K')
            values.setdefault('rbd_max_objects', 1 << 31)
        for name, value in values.items():
            self.override_config(name, value, group=group)
        made = cls(configuration=settings, db=db, execute=utils.execute)
        if cls is driver.RBDExtDriver:
            self.addCleanup(_disconnect, made)
        made.do_setup(self.admin)
        made.check_for_setup_error()
        made.set_initialized()
        return made

    def override_backend(self, made: Any, name: str, value: Any) -> None:
        """Set an option of a driver's back end."""
        group = made.configuration.config_group
        self.override_config(name, value, group=group)

    def make_type(self, **specs: str) -> str:
        """Create a volume type with extra specs; ``rbd_x`` is ``rbd:x``."""
        self._types += 1
        made = volume_types.create(
            self.admin,
            f'type-{self._types}',
            {k.replace('rbd_', 'rbd:', 1): v for k, v in specs.items()},
        )
        return str(made['id'])

    def new_volume(
        self,
        metadata: dict[str, str] | None = None,
        volume_type: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Create a volume in the database only, without an RBD image."""
        return cinder_utils.create_volume(
            self.context,
            metadata=metadata,
            volume_type_id=volume_type or self.make_type(),
            **kwargs,
        )

    def made_volume(
        self,
        metadata: dict[str, str] | None = None,
        volume_type: str | None = None,
        driver: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Create a volume with a driver."""
        volume = self.new_volume(metadata, volume_type, **kwargs)
        self.update(volume, (driver or self.driver).create_volume(volume))
        return volume

    def encrypted_volume(self, **kwargs: Any) -> Any:
        """Create a volume of an encrypted type, without its RBD image."""
        for name, value in (
            ('backend', 'cinder.keymgr.conf_key_mgr.ConfKeyManager'),
            ('fixed_key', FIXED_KEY),
        ):
            self.override_config(name, value, group='key_manager')
        volume = self.new_volume(encryption_key_id=NO_KEY_ID, **kwargs)
        db.volume_type_encryption_create(
            self.admin,
            volume.volume_type_id,
            {
                'provider': 'luks',
                'cipher': 'aes-xts-plain64',
                'key_size': 256,
                'control_location': 'front-end',
            },
        )
        return volume

    def fill(self, name: str, pool: str = 'volumes') -> None:
        """Write content that a clone or copy must contain."""
        with self.cluster.image(name, pool) as image:
            image.write(b'content', 3 * units.Mi)

    def glance_image(self) -> tuple[str, None]:
        """Create a Glance image with 8 MiB objects; return its location."""
        rbd.RBD().create(
            self.cluster.ioctx('images'),
            'glance',
            64 * units.Mi,
            order=23,
            features=feature_bits.DEFAULT,
        )
        self.fill('glance', 'images')
        with self.cluster.image('glance', 'images') as image:
            image.create_snap('snap')
            image.protect_snap('snap')
        return f'rbd://{self.cluster.fsid}/images/glance/snap', None

    def glance_download(self, disk_format: str = 'raw') -> ImageService:
        """Return a service with an image whose content is known."""
        raw, path = self.tmp / 'disk.raw', self.tmp / f'disk.{disk_format}'
        with raw.open('wb') as out:
            out.truncate(8 * units.Mi)
            out.seek(3 * units.Mi)
            out.write(b'content')
        if disk_format != 'raw':
            subprocess.run(
                ['qemu-img', 'convert', '-O', disk_format, raw, path],
                check=True,
            )
        return ImageService(path, disk_format)

    @contextlib.contextmanager
    def retyping(self, volume: Any) -> Iterator[None]:
        """Set the status of a retype meanwhile, as Cinder's API does.

        The manager gets an object that is as the row.
        """
        former = volume.status
        self.update(volume, {'status': 'retyping', 'previous_status': former})
        try:
            yield
        finally:
            self.update(volume, {'status': former})

    def update(self, volume: Any, changes: dict[str, Any] | None) -> None:
        """Save a model update of the driver, as Cinder's manager does."""
        if changes:
            volume.update(changes)
            volume.save()

    def delete_with_record(self, volume: Any, driver: Any) -> None:
        """Delete a volume and its record, as Cinder's manager does."""
        driver.delete_volume(volume)
        volume.destroy()

    def new_snapshot(self, volume: Any, driver: Any = None) -> Any:
        """Create a snapshot with a driver."""
        snapshot = cinder_utils.create_snapshot(
            self.context,
            volume.id,
            status='available',
            volume_size=volume.size,
        )
        snapshot = objects.Snapshot.get_by_id(self.context, snapshot.id)
        (driver or self.driver).create_snapshot(snapshot)
        return snapshot

    def check_not_reverted(
        self, refusal: type[Exception], volume: Any, snapshot: Any
    ) -> None:
        """Check that the driver refuses to revert a volume to a snapshot."""
        revert = self.driver.revert_to_snapshot
        self.assertRaises(refusal, revert, self.context, volume, snapshot)

    # Actual state

    def layout_of(self, volume: Any, pool: str = 'volumes') -> dict[str, int]:
        """Return the layout of a volume's image."""
        name = volume if isinstance(volume, str) else volume.name
        with self.cluster.image(name, pool, read_only=True) as image:
            return {
                'object_size': image.stat()['obj_size'],
                'stripe_unit': image.stripe_unit(),
                'stripe_count': image.stripe_count(),
            }

    def features_of(self, volume: Any, pool: str = 'volumes') -> set[str]:
        """Return the features of a volume's image, as ``rbd info`` does.

        Without ``operations``, which librbd enables in a clone by itself.
        """
        name = volume if isinstance(volume, str) else volume.name
        out = self.rbd('info', '--format', 'json', f'{pool}/{name}')
        return set(json.loads(out)['features']) - {'operations'}

    def flags_of(self, volume: Any, pool: str = 'volumes') -> int:
        """Return the flags of a volume's image: 0 where maps are valid."""
        with self.cluster.image(volume.name, pool, read_only=True) as image:
            return int(image.flags())

    def size_of(self, volume: Any, pool: str = 'volumes') -> int:
        """Return the size of a volume's image in bytes."""
        with self.cluster.image(volume.name, pool, read_only=True) as image:
            return int(image.size())

    def recorded(self, volume: Any) -> dict[str, str]:
        """Return the record of a volume, and its admin metadata."""
        return recorded.items_of(record.stored(volume.id))

    def told(self, volume: Any) -> str:
        """Return the last reason, as a user message shows it."""
        return recorded.reason_of(record.stored(volume.id))

    def reason(self, volume: Any) -> str | None:
        """Return the reason for a refusal that is shown to the tenant."""
        return recorded.refused(self.recorded(volume), 'creation')

    def rbd(self, *args: str) -> str:
        """Run ``rbd`` as an operator would."""
        done = subprocess.run(
            ['rbd', '--conf', self.cluster.conf, '--id', 'admin', *args],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout
