# SPDX-License-Identifier: Apache-2.0

"""The volume driver, called as Nova's libvirt driver calls it."""

from collections.abc import Mapping
import inspect
import types
from typing import Any

import ddt
import hypothesis
from hypothesis import strategies
from lxml import etree
from nova import objects
from nova.virt import fake
from nova.virt.libvirt import driver
from nova.virt.libvirt.volume import net
from nova.virt.libvirt.volume import volume as stock_volume

from nova_rbd_cache import contract
from nova_rbd_cache import guests
from rbd_volume_options.families import cache_modes
from tests.unit import untrusted
from tests.unit.nova_rbd_cache import base

_MODES = [mode.value for mode in cache_modes.SAFE_CACHE_MODES]


class VolumeTestCase(base.NovaTestCase):
    """A real LibvirtDriver, with our volume driver registered."""

    def setUp(self) -> None:
        super().setUp()
        self.use_libvirt()
        self.set_options('libvirt', virt_type='kvm')

    def make_driver(self, *cachemodes: str) -> driver.LibvirtDriver:
        """Return a driver with these ``disk_cachemodes``."""
        self.set_options('libvirt', disk_cachemodes=list(cachemodes))
        ours = {**driver.VOLUME_DRIVERS, 'rbd': contract.OUR_DRIVER}
        self.patch(driver, 'VOLUME_DRIVERS', ours)
        return driver.LibvirtDriver(fake.FakeVirtAPI(), False)

    def config(
        self,
        nova: driver.LibvirtDriver,
        info: object,
        place: Mapping[str, str] = base.DISK_INFO,
    ) -> Any:
        """Return the disk that Nova configures for an attachment."""
        function = nova._get_volume_config
        server = []
        if 'instance' in inspect.signature(function).parameters:
            # Nova 31 to 33 check for memory encryption of the server.
            flavor = objects.Flavor(extra_specs={})
            meta = objects.ImageMeta.from_dict({'properties': {}})
            server = [types.SimpleNamespace(flavor=flavor, image_meta=meta)]
        return function(*server, info, place)

    def stock_xml(self, info: object, *cachemodes: str) -> str:
        """Return the XML of stock Nova for an attachment."""
        self.set_options('libvirt', disk_cachemodes=list(cachemodes))
        made = driver.LibvirtDriver(fake.FakeVirtAPI(), False)
        made.volume_drivers['rbd'] = net.LibvirtNetVolumeDriver(made._host)
        xml: str = self.config(made, info).to_xml()
        return xml


@ddt.ddt
class ModeTest(VolumeTestCase):
    """The cache mode in the XML for libvirt."""

    @ddt.data(
        *(
            (mode, cachemodes)
            for mode in _MODES
            for cachemodes in ((), ('network=writeback',), ('network=none',))
        )
    )
    @ddt.unpack
    def test_mode_wins(self, mode: str, cachemodes: tuple[str, ...]) -> None:
        nova = self.make_driver(*cachemodes)
        disk = self.config(nova, base.connection_info(mode))
        self.assertEqual(mode, base.cache_of(disk.to_xml()))
        # Nova calls this again for all disks when a server starts.
        nova._set_cache_mode(disk)
        self.assertEqual(mode, base.cache_of(disk.to_xml()))

    @ddt.data((), ('network=writeback',), ('file=writeback',))
    def test_no_mode_is_stock(self, cachemodes: tuple[str, ...]) -> None:
        info = base.connection_info()
        nova = self.make_driver(*cachemodes)
        disk = self.config(nova, info)
        nova._set_cache_mode(disk)
        self.assertEqual(self.stock_xml(info, *cachemodes), disk.to_xml())
        # It is the stock class, so later calls cannot differ either.
        self.assertIs(
            type(stock_volume.vconfig.LibvirtConfigGuestDisk()), type(disk)
        )

    @ddt.data(*_MODES)
    def test_only_the_mode_differs_from_stock(self, mode: str) -> None:
        nova = self.make_driver('network=none')
        ours = self.config(nova, base.connection_info(mode)).to_xml()
        stock = self.stock_xml(base.connection_info(), f'network={mode}')
        self.assertEqual(stock, ours)

    @ddt.data(*_MODES, 'unsafe')
    def test_shared_is_none(self, mode: str) -> None:
        nova = self.make_driver('network=writeback')
        disk = self.config(nova, base.connection_info(mode, multiattach=True))
        nova._set_cache_mode(disk)
        self.assertIn('<shareable/>', disk.to_xml())
        self.assertEqual('none', base.cache_of(disk.to_xml()))

    def test_unsafe_where_it_is_listed(self) -> None:
        self.set_options(allowed_modes='none,unsafe')
        nova = self.make_driver('network=none')
        info = base.connection_info('unsafe')
        nova._get_volume_driver(info)._choose(info)
        disk = self.config(nova, info)
        self.assertEqual('unsafe', base.cache_of(disk.to_xml()))


@ddt.ddt
class TuningTest(VolumeTestCase):
    """I/O threads and queues."""

    @ddt.data(None, 'directsync')
    def test_in_the_xml(self, mode: str | None) -> None:
        self.set_options(disk_iothread=True, disk_queues=4)
        nova = self.make_driver('network=writeback')
        disk = self.config(nova, base.connection_info(mode))
        nova._set_cache_mode(disk)
        expected = {'iothread': '1', 'queues': '4'}
        expected['cache'] = mode or 'writeback'
        written = base.driver_of(disk.to_xml())
        self.assertEqual(expected, {k: written[k] for k in expected})

    def test_shared_disk_keeps_no_cache_but_queues(self) -> None:
        self.set_options(disk_queues=4)
        nova = self.make_driver()
        info = base.connection_info('writeback', multiattach=True)
        written = base.driver_of(self.config(nova, info).to_xml())
        self.assertEqual('none', written['cache'])
        self.assertEqual('4', written['queues'])

    def asked(self, mode: str | None = None, **options: Any) -> int:
        """Return how often libvirt is queried for a disk of a guest."""
        self.set_options(**options)
        nova = self.make_driver()
        info = base.connection_info(mode)
        host = base.FakeHost(base.guest_xml())
        self.patch(nova._get_volume_driver(info), 'host', host)
        self.config(nova, info)
        return host.asked

    @ddt.data(None, *_MODES)
    def test_libvirt_is_not_queried(self, mode: str | None) -> None:
        """Neither an option nor a mode that is not allowed requires it."""
        self.assertEqual(0, self.asked(mode))

    def test_libvirt_is_queried_once_with_an_option(self) -> None:
        self.assertEqual(1, self.asked(disk_queues=4))


@ddt.ddt
class DetectZeroesTest(VolumeTestCase):
    """How writes of zeros are treated."""

    def attributes(self, word: Any, mode: str | None = None) -> dict[str, str]:
        """Return the driver attributes of a disk."""
        info = base.connection_info(mode)
        info['data']['detect_zeroes'] = word
        return base.driver_of(self.config(self.make_driver(), info).to_xml())

    @ddt.data(
        *((word, m) for word in ('off', 'unmap') for m in (None, 'none'))
    )
    @ddt.unpack
    def test_disk_differs_from_stock_in_it_only(
        self, word: str, mode: str | None
    ) -> None:
        stock = base.driver_of(self.stock_xml(base.connection_info()))
        attributes = self.attributes(word, mode)
        self.assertEqual({**stock, 'detect_zeroes': word}, attributes)

    def test_unknown_word_is_logged_and_ignored(self) -> None:
        self.assertNotIn('detect_zeroes', self.attributes('maybe'))
        self.assertIn("rbd:detect_zeroes = 'maybe'", self.log.output)

    def test_running_guest_keeps_its_queues_and_gets_it(self) -> None:
        self.set_options(disk_queues=4)
        nova = self.make_driver()
        info = base.connection_info()
        info['data']['detect_zeroes'] = 'on'
        host = base.FakeHost(base.guest_xml(driver={'queues': '2'}))
        self.patch(nova._get_volume_driver(info), 'host', host)
        attributes = base.driver_of(self.config(nova, info).to_xml())
        self.assertEqual('2', attributes['queues'])
        self.assertEqual('on', attributes['detect_zeroes'])


@ddt.ddt
class DiscardGranularityTest(VolumeTestCase):
    """The smallest discard that the disk reports."""

    def setUp(self) -> None:
        super().setUp()
        self.host = base.FakeHost()

    def xml(self, granularity: int | None = 4096, **data: Any) -> Any:
        """Return the XML of a disk, after Nova connected the volume."""
        nova = self.make_driver()
        info = base.connection_info('none')
        info['data'].update(data)
        if granularity is not None:
            info['data']['discard_granularity'] = granularity
        self.patch(nova._get_volume_driver(info), 'host', self.host)
        server = types.SimpleNamespace(uuid=base.SERVER_ID)
        nova._connect_volume(None, info, server, encryption={})
        parser = etree.XMLParser(remove_blank_text=True)
        return etree.fromstring(self.config(nova, info).to_xml(), parser)

    def granularity(self, *args: Any) -> str | None:
        """Return the granularity in the XML of a disk."""
        size: str | None = (
            self.xml(*args).find('blockio').get('discard_granularity')
        )
        return size

    def test_disk_differs_from_one_without_it_in_it_only(self) -> None:
        disk = self.xml()
        block_io = disk.find('blockio')
        self.assertEqual({'discard_granularity': '4096'}, block_io.attrib)
        disk.remove(block_io)
        without = self.xml(granularity=None)
        self.assertIsNone(without.find('blockio'))
        self.assertEqual(etree.tostring(without), etree.tostring(disk))

    def test_sector_size_and_granularity_are_in_one_element(self) -> None:
        sizes: dict[str, Any] = {
            'logical_block_size': '512',
            'physical_block_size': '4096',
        }
        (block_io,) = self.xml(**sizes).findall('blockio')
        self.assertEqual(
            {**sizes, 'discard_granularity': '4096'}, block_io.attrib
        )

    @ddt.data('8192', None)
    def test_running_guest_keeps_what_it_has(self, had: str | None) -> None:
        """In a live migration, libvirt rejects another one."""
        element = f'<blockio discard_granularity="{had}"/>' if had else ''
        xml = base.guest_xml(driver={'cache': 'none'}, block_io=element)
        self.host = base.FakeHost(xml)
        block_io = self.xml().find('blockio')
        self.assertEqual(
            had,
            None if block_io is None else block_io.get('discard_granularity'),
        )

    def test_running_guest_keeps_it_when_nothing_is_requested(self) -> None:
        element = '<blockio discard_granularity="8192"/>'
        xml = base.guest_xml(driver={'cache': 'none'}, block_io=element)
        nova = self.make_driver()
        info = base.connection_info()
        ours = nova._get_volume_driver(info)
        self.patch(ours, 'host', base.FakeHost(xml))
        ours.note_migrated(base.SERVER_ID, guests.parse(xml))
        self.assertIn(
            'discard_granularity="8192"', self.config(nova, info).to_xml()
        )

    def test_stopped_guest_gets_what_is_requested(self) -> None:
        element = '<blockio discard_granularity="8192"/>'
        xml = base.guest_xml(driver={'cache': 'none'}, block_io=element)
        self.host = base.FakeHost(xml, running=False)
        self.assertEqual('4096', self.granularity())

    @ddt.data(('ide', None), ('sata', None), ('scsi', '4096'))
    @ddt.unpack
    def test_only_buses_that_can_have_it_get_it(
        self, bus: str, expected: str | None
    ) -> None:
        """QEMU starts no guest with another one than 512 bytes on SATA."""
        info = base.connection_info('none')
        info['data']['discard_granularity'] = 4096
        nova = self.make_driver()
        self.patch(nova._get_volume_driver(info), 'host', self.host)
        place = {**base.DISK_INFO, 'bus': bus}
        made = self.config(nova, info, place)
        block_io = etree.fromstring(made.to_xml()).find('blockio')
        self.assertEqual(
            expected,
            None if block_io is None else block_io.get('discard_granularity'),
        )

    @ddt.data((9006999, None), (9007000, '4096'), (11003000, '4096'))
    @ddt.unpack
    def test_libvirt_that_would_ignore_it_does_not_get_it(
        self, version: int, expected: str | None
    ) -> None:
        """A server cannot run without a volume that is moved."""
        self.host.libvirt = version
        block_io = self.xml().find('blockio')
        self.assertEqual(
            expected,
            None if block_io is None else block_io.get('discard_granularity'),
        )
        warned = 'rbd:discard_granularity, which this host' in self.log.output
        self.assertIs(expected is None, warned)


class ConnectTestCase(VolumeTestCase):
    """A volume that Nova connects before it requests the disk."""

    def setUp(self) -> None:
        super().setUp()
        self.host = base.FakeHost()

    def connect(self, info: Any) -> Any:
        """Connect a volume to a new nova-compute; return its disk."""
        nova = self.make_driver('network=writeback')
        self.patch(nova._get_volume_driver(info), 'host', self.host)
        server = types.SimpleNamespace(uuid=base.SERVER_ID, host='compute-1')
        nova._connect_volume(None, info, server, encryption={})
        return self.config(nova, info)


@ddt.ddt
class ChosenModeTest(ConnectTestCase):
    """The host that connects a volume chooses its mode."""

    def check_chosen(self, mode: str, info: Any) -> None:
        """Check the mode of the disk and of the stored information."""
        disk = self.connect(info)
        self.assertEqual(mode, base.cache_of(disk.to_xml()))
        self.assertEqual(mode, info['data']['cache_mode_in_force'])

    @ddt.data(*_MODES)
    def test_allowed_mode_is_in_force(self, mode: str) -> None:
        self.check_chosen(mode, base.connection_info(mode))
        self.assertNotIn('not with', self.log.output)

    @ddt.data(
        ('unsafe', None),
        ('writeback', 'directsync'),
        ('fast', None),
        ('', None),
        ('\x1b[31m\u2028', None),
    )
    @ddt.unpack
    def test_mode_that_the_host_does_not_allow_is_none(
        self, mode: str, allowed: str | None
    ) -> None:
        if allowed:
            self.set_options(allowed_modes=allowed)
        info = base.connection_info(mode)
        self.check_chosen('none', info)
        self.assertEqual(mode, info['data']['cache_mode'])
        (line,) = [
            line
            for line in self.log.output.splitlines()
            if 'is attached with cache mode none' in line
        ]
        for word in ('WARNING', base.VOLUME_ID, repr(mode), 'allowed_modes'):
            self.assertIn(word, line)

    def test_mode_returns_when_the_host_allows_it(self) -> None:
        """Nova starts the server with what it stored, without Cinder."""
        self.set_options(allowed_modes='none')
        info = base.connection_info('writeback')
        self.check_chosen('none', info)
        self.set_options(allowed_modes='none,writeback')
        self.check_chosen('writeback', info)

    def test_choice_of_a_former_host_is_removed(self) -> None:
        info = base.connection_info()
        info['data']['cache_mode_in_force'] = 'unsafe'
        disk = self.connect(info)
        self.assertEqual('writeback', base.cache_of(disk.to_xml()))
        self.assertNotIn('cache_mode_in_force', info['data'])

    @ddt.data(*_MODES, 'unsafe', 'fast')
    def test_shared_disk_has_mode_none(self, mode: str) -> None:
        self.set_options(allowed_modes='writeback')
        self.check_chosen('none', base.connection_info(mode, multiattach=True))

    def test_source_of_a_live_migration_uses_the_choice_of_the_destination(
        self,
    ) -> None:
        """It writes the XML of the guest, and may allow other modes."""
        self.set_options(allowed_modes='none')
        nova = self.make_driver('network=none')
        info = base.connection_info('directsync')
        info['data']['cache_mode_in_force'] = 'writeback'
        disk = self.config(nova, info)
        self.assertEqual('writeback', base.cache_of(disk.to_xml()))

    @ddt.data(('directsync', 'directsync'), ('unsafe', 'writeback'))
    @ddt.unpack
    def test_live_migration_to_a_host_without_the_plug_in_keeps_a_safe_mode(
        self, mode: str, expected: str
    ) -> None:
        nova = self.make_driver('network=writeback')
        disk = self.config(nova, base.connection_info(mode))
        self.assertEqual(expected, base.cache_of(disk.to_xml()))

    def test_libvirt_is_asked_again_only_if_it_was_down(self) -> None:
        nova = self.make_driver()
        ours = nova._get_volume_driver(base.connection_info())
        self.patch(ours, 'host', types.SimpleNamespace())
        self.assertNotIn('libvirt', ours.abilities.versions)
        ours.host = self.host
        self.assertEqual('11.3.0', ours.abilities.versions['libvirt'])
        ours.host = types.SimpleNamespace()
        self.assertEqual('11.3.0', ours.abilities.versions['libvirt'])

    @untrusted.FEWER
    @hypothesis.given(
        strategies.fixed_dictionaries(
            {},
            optional={
                'cache_mode': untrusted.TEXTS
                | strategies.sampled_from(_MODES),
                'cache_mode_in_force': untrusted.TEXTS,
                'detect_zeroes': untrusted.TEXTS,
                'discard_granularity': strategies.integers(0, 2**63),
            },
        )
    )
    def test_any_item_of_a_connection_changes_one_attribute(
        self, items: dict[str, Any]
    ) -> None:
        info = base.connection_info()
        info['data'] |= items
        xml = etree.fromstring(self.connect(info).to_xml())
        stock = etree.fromstring(self.stock_xml(base.connection_info()))
        names = [each.tag for each in stock.iter()]
        self.assertEqual(
            names,
            [each.tag for each in xml.iter() if each.tag != 'blockio'],
        )
        driver_of = xml.find('driver').attrib
        self.assertIn(driver_of['cache'], _MODES)
        self.assertIn(
            driver_of.get('detect_zeroes', 'off'), ('off', 'on', 'unmap')
        )
