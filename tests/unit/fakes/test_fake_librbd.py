# SPDX-License-Identifier: Apache-2.0

"""The fake librbd behaves like the real one."""

from typing import Any

from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.functional import librbd_clones
from tests.unit import base


class FakeBehaviourTest(librbd_clones.Clones, base.TestCase):
    """Run the behaviour tests of the real librbd on the fake."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes', 'other')
        self.other_pool = 'other'
        self.client = self.cluster.rados.Rados()
        self.client.connect()
        self.pool_lookup = self.client.pool_lookup
        self.module = fake_librbd.Librbd(self.cluster)
        self.ioctx = self.second_ioctx()

    def second_ioctx(self) -> Any:
        return self.client.open_ioctx('volumes')

    def set_pool_option(self, name: str, value: str) -> None:
        self.cluster.pools['volumes'].config[name] = value


class FakeConnectionTest(base.TestCase):
    """Calls that end the process with the real librbd.

    With librbd 16.2.15 a closed ioctx causes a segmentation fault, and closing
    an image after its connection blocks forever. A test cannot do this with
    the real library.
    """

    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes')
        self.client = self.cluster.rados.Rados()
        self.client.connect()
        self.ioctx = self.client.open_ioctx('volumes')
        self.module = fake_librbd.Librbd(self.cluster)
        self.module.RBD().create(self.ioctx, 'i', 1 << 30)

    def test_closed_ioctx(self) -> None:
        self.ioctx.close()
        self.assertRaises(
            fake_rados.ProcessEnded, self.module.RBD().remove, self.ioctx, 'i'
        )
        self.assertRaises(
            fake_rados.ProcessEnded, self.module.Image, self.ioctx, 'i'
        )
        self.assertEqual(
            ['RBD.remove on a closed ioctx', 'Image on a closed ioctx'],
            self.cluster.ended,
        )

    def test_image_left_open(self) -> None:
        image = self.module.Image(self.ioctx, 'i')
        self.client.shutdown()
        self.assertRaises(fake_rados.ProcessEnded, image.close)
        self.assertEqual(1, len(self.cluster.ended))

    def test_forced_fault_is_raised_as_often_as_asked(self) -> None:
        error = self.module.ImageBusy('made to fail')
        self.cluster.fail('RBD.list', error, times=2)
        for _ in range(2):
            self.assertIs(
                error,
                self.assertRaises(
                    self.module.ImageBusy, self.module.RBD().list, self.ioctx
                ),
            )
        self.assertEqual(['i'], self.module.RBD().list(self.ioctx))
