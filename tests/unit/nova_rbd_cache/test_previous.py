# SPDX-License-Identifier: Apache-2.0

from nova_rbd_cache import previous
from tests.unit.nova_rbd_cache import base

_KEY = (base.SERVER_ID, base.VOLUME_ID)


class PreviousDisksTest(base.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.use_libvirt()
        self.disks = previous.PreviousDisks()

    def note(self, xml: str, server: str = base.SERVER_ID) -> str | None:
        """Note the disk of the volume; return its previous cache mode."""
        self.disks.note(base.FakeHost(xml), server, base.VOLUME_ID)
        return self.disks.mode(*_KEY)

    def test_nothing_is_known(self) -> None:
        self.assertIsNone(self.disks.mode(*_KEY))

    def test_mode_of_the_previous_disk_is_remembered(self) -> None:
        for mode in ('none', 'unsafe'):
            xml = base.guest_xml(driver={'cache': mode})
            self.assertEqual(mode, self.note(xml))
        self.assertIsNone(self.disks.mode('another', base.VOLUME_ID))
        self.assertIsNone(self.disks.mode(base.SERVER_ID, 'another'))

    def test_all_disks_of_a_guest(self) -> None:
        xml = base.guest_xml(driver={'cache': 'unsafe'})
        self.disks.note_all(base.FakeHost(xml), base.SERVER_ID)
        self.disks.note_all(base.FakeHost(), base.SERVER_ID)
        self.assertEqual('unsafe', self.disks.mode(*_KEY))

    def test_no_guest_any_more(self) -> None:
        """A retry, after the guest was undefined."""
        self.note(base.guest_xml(driver={'cache': 'unsafe'}))
        self.assertEqual('unsafe', self.note(''))

    def test_detached_disk_has_no_previous_mode(self) -> None:
        """The guest exists without the disk."""
        self.note(base.guest_xml(driver={'cache': 'unsafe'}))
        self.assertIsNone(self.note(base.guest_xml()))
