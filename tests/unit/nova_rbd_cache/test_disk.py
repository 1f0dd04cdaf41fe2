# SPDX-License-Identifier: Apache-2.0

"""Disks with a fixed cache mode, and an I/O thread or queues."""

import copy

import ddt
from lxml import etree
from nova.virt.libvirt import config

from nova_rbd_cache import disk
from rbd_volume_options.families import cache_modes
from tests.unit.nova_rbd_cache import base


def _stock() -> config.LibvirtConfigGuestDisk:
    made = config.LibvirtConfigGuestDisk()
    made.source_type = 'network'
    made.source_protocol = 'rbd'
    made.source_name = 'volumes/v'
    made.source_hosts = ['192.0.2.1']
    made.source_ports = ['6789']
    made.driver_name = 'qemu'
    made.driver_format = 'raw'
    made.driver_cache = 'none'
    made.driver_discard = 'unmap'
    made.target_dev = 'vdb'
    made.target_bus = 'virtio'
    made.serial = 'a-serial'
    made.disk_read_iops_sec = 500
    return made


@ddt.ddt
class TunedDiskTest(base.NovaTestCase):
    @ddt.data(
        (disk.Tuning(), {}),
        (disk.Tuning(io_thread=1), {'iothread': '1'}),
        (disk.Tuning(queues=3), {'queues': '3'}),
        (disk.Tuning(2, 256), {'iothread': '2', 'queues': '256'}),
        (disk.Tuning(detect_zeroes='on'), {'detect_zeroes': 'on'}),
    )
    @ddt.unpack
    def test_differs_in_the_tuning_only(
        self, tuning: disk.Tuning, expected: dict[str, str]
    ) -> None:
        tuned = disk.TunedDisk.tuned(_stock(), tuning)
        written = etree.fromstring(tuned.to_xml())
        driver = written.find('driver')
        differing = {
            name: driver.attrib.pop(name)
            for name in ('iothread', 'queues', 'detect_zeroes')
            if name in driver.attrib
        }
        self.assertEqual(expected, differing)
        stock = etree.fromstring(_stock().to_xml())
        self.assertEqual(etree.tostring(stock), etree.tostring(written))

    def test_nova_sets_the_mode(self) -> None:
        tuned = disk.TunedDisk.tuned(_stock(), disk.Tuning(1, 2))
        tuned.driver_cache = 'writethrough'
        self.assertEqual('writethrough', base.cache_of(tuned.to_xml()))

    def test_pinned_keeps_it(self) -> None:
        tuned = disk.TunedDisk.tuned(_stock(), disk.Tuning(1, 2))
        pinned = disk.PinnedDisk.of(tuned, cache_modes.CacheMode.WRITEBACK)
        attributes = base.driver_of(copy.deepcopy(pinned).to_xml())
        expected = {'cache': 'writeback', 'iothread': '1', 'queues': '2'}
        self.assertEqual(expected, {k: attributes[k] for k in expected})


@ddt.ddt
class PinnedDiskTest(base.NovaTestCase):
    @ddt.data(*cache_modes.CacheMode)
    def test_differs_in_the_mode_only(
        self, mode: cache_modes.CacheMode
    ) -> None:
        expected = _stock()
        expected.driver_cache = mode.value
        pinned = disk.PinnedDisk.of(_stock(), mode)
        self.assertEqual(expected.to_xml(), pinned.to_xml())

    def test_keeps_the_mode(self) -> None:
        pinned = disk.PinnedDisk.of(_stock(), cache_modes.CacheMode.WRITEBACK)
        pinned.driver_cache = 'none'
        self.assertEqual('writeback', pinned.driver_cache)
        self.assertEqual('writeback', base.cache_of(pinned.to_xml()))
