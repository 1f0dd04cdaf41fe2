# SPDX-License-Identifier: Apache-2.0

"""Test failed creations in Cinder's own flow."""

from typing import Any
from unittest import mock

from cinder import exception
from cinder.db import api as db
from cinder.image import image_utils
from cinder.volume.flows.manager import create_volume
import ddt
from oslo_utils import units
import rbd

from cinder_rbd_ext import exceptions
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import creation_paths

_META = {
    'id': 'image',
    'size': 1,
    'disk_format': 'qcow2',
    'container_format': 'bare',
}


class FlowTest(base.DriverTestCase):
    """``CreateVolumeFromSpecTask`` with the driver."""

    def flow(
        self, way: creation_paths.ImportGlanceImage, cache: Any = None
    ) -> Any:
        """Return the part of the flow that creates a volume from an image."""
        task = create_volume.CreateVolumeFromSpecTask(
            mock.Mock(driver=self.driver), db, self.driver, cache
        )
        patched = mock.patch.object(
            image_utils, 'check_available_space', autospec=True
        )
        patched.start()
        self.addCleanup(patched.stop)

        def create(volume: Any) -> Any:
            return task._create_from_image_cache_or_download(
                self.context, volume, (None, None), 'image', _META, way.service
            )

        return create

    def test_encrypted_volume_that_is_refused(self) -> None:
        """The reason stays when Cinder clears the volume's image metadata."""
        way = creation_paths.ImportToEncrypted(
            self, metadata={keys.OBJECT_SIZE: '3M'}
        )
        volume = way.volume
        # Image metadata that Cinder has written at this point.
        db.volume_glance_metadata_create(
            self.context, volume.id, 'signature_verified', 'False'
        )
        self.assertRaises(
            exceptions.VolumeOptionRefused, self.flow(way), volume
        )
        self.assertIn('not a power of two', self.reason(volume) or '')

    def test_cache_entry_that_can_not_be_cloned(self) -> None:
        """The tenant's volume is created from a download instead."""
        self.flags(
            cinder_internal_tenant_project_id='project',
            cinder_internal_tenant_user_id='user',
        )
        way = creation_paths.ImportQcow2(self)
        cached = self.made_volume()
        with self.cluster.image(cached.name) as image:
            image.create_snap('only one')
            image.set_snap_limit(1)
        cache = mock.Mock()
        cache.get_entry.return_value = {'volume_id': cached.id}
        volume = self.new_volume()
        self.flow(way, cache)(volume)
        with self.cluster.image(volume.name, read_only=True) as image:
            self.assertEqual(b'content', image.read(3 * units.Mi, 7))


@ddt.ddt
class LateFailureTest(base.DriverTestCase):
    """A librbd call fails after it created the image."""

    def late(self, name: str) -> None:
        """Make a librbd call time out after it succeeded."""
        real = getattr(rbd.RBD, name)

        class Late(rbd.RBD):
            pass

        def call(*args: Any, **kwargs: Any) -> None:
            real(*args, **kwargs)
            raise rbd.OSError('made to time out', 110)

        setattr(Late, name, call)
        self.driver.rbd._wrapped = mock.Mock(wraps=rbd, RBD=Late)
        for each in vars(rbd):
            if isinstance(getattr(rbd, each), type):
                setattr(
                    self.driver.rbd._wrapped,
                    each,
                    Late if each == 'RBD' else getattr(rbd, each),
                )

    @ddt.data(
        ('create', creation_paths.Create),
        ('clone', creation_paths.CloneVolume),
        ('clone', creation_paths.CloneFromSnapshot),
        ('clone', creation_paths.CloneGlanceImage),
    )
    @ddt.unpack
    def test_late_failure_of_librbd_is_undone(
        self, call: str, way: type[creation_paths.Path]
    ) -> None:
        path = way(self)
        before, volume = self.cluster.names(), path.volume
        self.late(call)
        self.assertRaises(exception.VolumeBackendAPIException, path.make)
        self.assertEqual(before, self.cluster.names())
        for name in before:
            with self.cluster.image(name, read_only=True) as image:
                taken = [each['name'] for each in image.list_snaps()]
            self.assertNotIn(f'{volume.name}.clone_snap', taken)

    def test_image_that_was_there_before(self) -> None:
        volume = self.new_volume()
        rbd.RBD().create(self.cluster.ioctx(), volume.name, 1 << 20)
        self.assertRaises(
            exceptions.ImageNotMade, self.driver.create_volume, volume
        )
        self.assertEqual([volume.name], self.cluster.names())
