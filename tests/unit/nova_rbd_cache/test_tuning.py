# SPDX-License-Identifier: Apache-2.0

"""Test the choice of I/O thread and queues for a volume's disk."""

from typing import Any

import ddt
from nova.virt.libvirt.volume import net

from nova_rbd_cache import disk
from nova_rbd_cache import settings
from nova_rbd_cache import tuning
from tests.unit.nova_rbd_cache import base

_BOTH = settings.DiskSettings(iothread=True, queues=4)
_NOTHING = disk.Tuning()


@ddt.ddt
class ChooseTest(base.NovaTestCase):
    def choose(
        self,
        host: Any,
        wanted: settings.DiskSettings = _BOTH,
        info: Any = None,
        disk_info: Any = base.DISK_INFO,
    ) -> disk.Tuning:
        """Choose the tuning of a disk that Nova has configured."""
        info = info or base.connection_info()
        stock = net.LibvirtNetVolumeDriver(base.FakeHost()).get_config(
            info, disk_info
        )
        return tuning.choose(wanted, stock, host, info)

    @ddt.data(
        (settings.DiskSettings(iothread=True), disk.Tuning(io_thread=1)),
        (settings.DiskSettings(queues=2), disk.Tuning(queues=2)),
        (_BOTH, disk.Tuning(1, 4)),
    )
    @ddt.unpack
    def test_new_guest(
        self, wanted: settings.DiskSettings, expected: disk.Tuning
    ) -> None:
        self.assertEqual(expected, self.choose(base.FakeHost(), wanted))

    @ddt.data('', base.guest_xml(), base.guest_xml(driver={'name': 'qemu'}))
    def test_nothing_is_wanted(self, xml: str) -> None:
        chosen = self.choose(base.FakeHost(xml), settings.DiskSettings())
        self.assertEqual(_NOTHING, chosen)

    @ddt.data(True, False)
    def test_attached_to_a_guest(self, running: bool) -> None:
        host = base.FakeHost(base.guest_xml(), running)
        self.assertEqual(disk.Tuning(1, 4), self.choose(host))
        self.assertNotIn('gets no I/O thread', self.log.output)

    @ddt.data(True, False)
    def test_guest_of_an_older_nova(self, running: bool) -> None:
        host = base.FakeHost(base.guest_xml(threads=0), running)
        self.assertEqual(disk.Tuning(None, 4), self.choose(host))
        self.assertIn(
            f'Volume {base.VOLUME_ID} gets no I/O thread', self.log.output
        )

    def test_no_warning_where_no_thread_is_asked_for(self) -> None:
        host = base.FakeHost(base.guest_xml(threads=0))
        self.choose(host, settings.DiskSettings(queues=2))
        self.assertNotIn('I/O thread', self.log.output)

    @ddt.data(
        ({'cache': 'none'}, _NOTHING),
        ({'iothread': '1'}, disk.Tuning(io_thread=1)),
        ({'queues': '8', 'iothread': '2'}, disk.Tuning(2, 8)),
    )
    @ddt.unpack
    def test_live_migration(
        self, attributes: dict[str, str], expected: disk.Tuning
    ) -> None:
        host = base.FakeHost(base.guest_xml(driver=attributes))
        self.assertEqual(expected, self.choose(host))
        # Also if the options were unset in the meantime.
        chosen = self.choose(host, settings.DiskSettings())
        self.assertEqual(expected, chosen)

    def test_made_anew_of_a_stopped_guest(self) -> None:
        host = base.FakeHost(
            base.guest_xml(driver={'queues': '8'}), running=False
        )
        self.assertEqual(disk.Tuning(1, 4), self.choose(host))

    @ddt.data(
        {'bus': 'scsi'}, {'bus': 'sata'}, {'type': 'lun'}, {'type': 'cdrom'}
    )
    def test_other_disks(self, disk_info: dict[str, str]) -> None:
        chosen = self.choose(
            base.FakeHost(), disk_info={**base.DISK_INFO, **disk_info}
        )
        self.assertEqual(_NOTHING, chosen)

    def test_attachment_that_names_no_server(self) -> None:
        info = base.connection_info()
        del info['instance']
        self.assertEqual(_NOTHING, self.choose(base.FakeHost(), info=info))

    def test_other_storage(self) -> None:
        info = {**base.connection_info(), 'driver_volume_type': 'iscsi'}
        self.assertEqual(_NOTHING, self.choose(base.FakeHost(), info=info))
