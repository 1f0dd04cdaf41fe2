# SPDX-License-Identifier: Apache-2.0

"""Images that need each other."""

from typing import Any
from unittest import mock

from cinder.volume.drivers import rbd

from cinder_rbd_ext import locks
from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.trash import relatives
from tests import feature_bits
from tests import option_values
from tests.fakes import fake_images
from tests.unit.cinder_rbd_ext import base

_SNAPSHOT = 'clone.clone_snap'


class RelativesTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        client = self.client = rbd.RADOSClient(self.driver)
        self.addCleanup(client.__exit__, None, None, None)
        self.ioctx = client.ioctx
        self.librbd.RBD().create(
            self.ioctx, 'source', 7, features=feature_bits.LAYERING
        )
        with self._open('source') as image:
            image.create_snap(_SNAPSHOT)
            image.protect_snap(_SNAPSHOT)
        self.sources = relatives.Relatives(self.driver, client)

    def _open(self, name: str) -> Any:
        return self.librbd.Image(self.ioctx, name)

    def _clone(self) -> None:
        self.librbd.RBD().clone(
            self.ioctx, 'source', _SNAPSHOT, self.ioctx, 'clone'
        )

    def _snapshots(self) -> list[str]:
        return [s.name for s in self.cluster.stored('source').snapshots]

    def test_reference_names_snapshot_of_clone(self) -> None:
        self._clone()
        with self._open('clone') as image:
            self.assertEqual(
                (relatives.Parent('source', _SNAPSHOT),),
                self._needs(image).parents,
            )
        with self._open('source') as image:
            needs = self._needs(image)
            self.assertEqual((), needs.parents)
            self.assertEqual((('volumes', 'clone'),), needs.children)

    def _needs(self, image: Any) -> relatives.Needs:
        return relatives.needs_of(self.librbd, image, 'volumes')

    def test_one_whose_source_is_locked_goes_after_that(self) -> None:
        with mock.patch.object(
            locks,
            'image',
            autospec=True,
            side_effect=locks.VolumeLocked(volume_id='id'),
        ):
            self.sources.release(relatives.Parent('source', _SNAPSHOT))
        self.assertEqual([_SNAPSHOT], self._snapshots())
        # By the operation that has locked it.
        relatives.drop_unneeded_of(self.driver, 'source')
        self.assertEqual([], self._snapshots())

    def test_clone_under_way(self) -> None:
        clone = creations.Creation('clone', lambda *_: option_values.planned())
        under_way = self.driver.librbd.creations
        with under_way.hold(clone), self._open('source') as image:
            relatives.drop_unneeded(self.driver, image)
        self.assertEqual([_SNAPSHOT], self._snapshots())

    def test_clone_made_meanwhile(self) -> None:
        self.cluster.fail('Image.unprotect_snap', fake_images.ImageBusy('x'))
        self.sources.release(relatives.Parent('source', _SNAPSHOT))
        self.assertEqual([_SNAPSHOT], self._snapshots())
