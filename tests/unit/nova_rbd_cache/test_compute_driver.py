# SPDX-License-Identifier: Apache-2.0

"""Traits and checks of live migration in the libvirt driver."""

import json
import types
from typing import Any
from typing import ClassVar

import ddt
from nova import exception
from nova import objects
from nova.compute import provider_tree
from nova.virt import fake
from nova.virt.libvirt import driver
from os_brick.initiator import connector

from nova_rbd_cache import compute_driver
from nova_rbd_cache import contract
from rbd_volume_options.families import cache_modes
from tests.unit.nova_rbd_cache import base

_NODE = 'compute-1'
_RP = '11111111-2222-4333-8444-555555555555'
_SERVER = types.SimpleNamespace(uuid=base.SERVER_ID)
_OTHER_VOLUME = 'c8d1f3a7-5c8e-4b1c-9a40-0d6b7f3f0003'
_OTHER = 'CUSTOM_OF_THE_OPERATOR'


class ComputeDriverTestCase(base.NovaTestCase):
    """A real LibvirtDriver; calls of stock methods are only recorded."""

    def setUp(self) -> None:
        super().setUp()
        self.use_libvirt()
        self.stock: list[str] = []
        for name in (
            'update_provider_tree',
            'check_can_live_migrate_source',
            'check_can_live_migrate_destination',
        ):
            self._note(name)
        # The connectors examine the machine.
        self.patch(connector, 'unix_connector_list', [])

    def _note(self, name: str) -> None:
        self.patch(
            compute_driver.STOCK,
            name,
            lambda *args, **kwargs: self.stock.append(name),
        )

    def make(self, kind: Any = compute_driver.RBDCacheDriver) -> Any:
        """Return the driver that nova-compute would load."""
        return kind(fake.FakeVirtAPI(), False)


@ddt.ddt
class TraitsTest(ComputeDriverTestCase):
    def traits(self, nova: Any, *before: str) -> set[str]:
        """Return the traits that Nova would send to Placement."""
        tree = provider_tree.ProviderTree()
        tree.new_root(_NODE, _RP)
        tree.add_traits(_NODE, _OTHER, *before)
        nova.update_provider_tree(tree, _NODE)
        self.assertEqual(['update_provider_tree'], self.stock)
        reported: set[str] = tree.data(_NODE).traits
        self.assertIn(_OTHER, reported)
        return reported - {_OTHER}

    def test_one_for_each_allowed_mode(self) -> None:
        self.set_options(allowed_modes='none,writeback')
        self.assertEqual(
            {'CUSTOM_RBD_CACHE_NONE', 'CUSTOM_RBD_CACHE_WRITEBACK'},
            self.traits(self.make(), 'CUSTOM_RBD_CACHE_UNSAFE'),
        )

    def test_disabled_plug_in_removes_its_traits(self) -> None:
        before = [compute_driver.trait(m) for m in cache_modes.CacheMode]
        nova = self.make(compute_driver.WithoutModes)
        self.assertEqual(set(), self.traits(nova, *before))


@ddt.ddt
class LiveMigrationTest(ComputeDriverTestCase):
    """Live migration of a guest with cache mode ``unsafe``."""

    def migrate(self, mode: str, has: str, *others: Any, **more: Any) -> None:
        """Run Nova's check on the source host.

        :param mode: the mode of the attachment
        :param has: the mode of the guest
        :param others: the attachments of further volumes
        """
        nova = self.make()
        xml = base.guest_xml(driver={'cache': has})
        nova._host = base.FakeHost(xml)
        infos = [base.connection_info(mode or None, **more), *others]
        mapping = [{'connection_info': info} for info in infos]
        nova.check_can_live_migrate_source(
            None, _SERVER, None, {'block_device_mapping': mapping}
        )

    def check_refused(self, mode: str, **more: Any) -> None:
        """Check that the migration is refused."""
        error = self.assertRaises(
            exception.MigrationPreCheckError,
            self.migrate,
            *(mode, 'unsafe'),
            **more,
        )
        for word in (base.VOLUME_ID, '[rbd_cache] live_migrate_unsafe'):
            self.assertIn(word, str(error))
        self.assertEqual([], self.stock)

    @ddt.data('unsafe', 'writeback', '')
    def test_unsafe_guest_disk_is_not_migrated(self, mode: str) -> None:
        """The mode of the guest decides; the attachment's may be newer."""
        self.check_refused(mode)

    @ddt.data(
        ('writeback', 'writeback', 'rbd'),
        ('unsafe', 'writeback', 'rbd'),
        ('', 'unsafe', 'iscsi'),
    )
    @ddt.unpack
    def test_other_disks_are_migrated(
        self, mode: str, has: str, kind: str
    ) -> None:
        self.migrate(mode, has, driver_volume_type=kind)
        self.assertEqual(['check_can_live_migrate_source'], self.stock)

    def test_disk_of_other_storage_is_not_checked(self) -> None:
        rbd = base.connection_info(volume_id=_OTHER_VOLUME)
        self.migrate('', 'unsafe', rbd, driver_volume_type='iscsi')
        self.assertEqual(['check_can_live_migrate_source'], self.stock)

    @ddt.data((), ('network=unsafe',))
    def test_swapped_unsafe_disk_is_not_migrated(
        self, cachemodes: Any
    ) -> None:
        """The disk has the serial number of the former volume."""
        self.set_options('libvirt', disk_cachemodes=list(cachemodes))
        self.check_refused('none', volume_id=_OTHER_VOLUME)

    def test_volume_that_cinder_has_migrated_is_not_unknown(self) -> None:
        """Cinder keeps the ID of a temporary volume in the attachment."""
        attachment = {'volume_id': _OTHER_VOLUME, 'serial': base.VOLUME_ID}
        self.check_refused('none', **attachment)
        self.set_options('libvirt', disk_cachemodes=['network=unsafe'])
        self.migrate('', 'unsafe', **attachment)

    def test_operator_may_allow_migration_of_unsafe_disks(self) -> None:
        self.set_options(live_migrate_unsafe=True)
        self.migrate('unsafe', 'unsafe')
        self.assertEqual(['check_can_live_migrate_source'], self.stock)

    def test_mode_of_the_host(self) -> None:
        """A mode that the operator sets for all volumes is not checked."""
        self.set_options('libvirt', disk_cachemodes=['network=unsafe'])
        self.migrate('', 'unsafe')
        self.assertEqual(['check_can_live_migrate_source'], self.stock)
        self.stock.clear()
        self.check_refused('unsafe')

    def test_no_volumes(self) -> None:
        nova = self.make()
        nova._host = base.FakeHost()
        nova.check_can_live_migrate_source(None, _SERVER, None)
        self.assertEqual(['check_can_live_migrate_source'], self.stock)


@ddt.ddt
class TunedDiskTest(ComputeDriverTestCase):
    """I/O threads and queues from before the options were unset."""

    def setUp(self) -> None:
        super().setUp()
        self.set_options('libvirt', virt_type='kvm')
        self.patch(driver, 'VOLUME_DRIVERS', {'rbd': contract.OUR_DRIVER})
        self.nova = self.make()
        self.ours = self.nova._get_volume_driver({'driver_volume_type': 'rbd'})

    def migrate(self, *volumes: str, **attributes: str) -> Any:
        """Check a guest and request its disk, as Nova does on the source.

        :param volumes: the kind of each volume
        :returns: the attributes of the disk
        """
        host = base.FakeHost(base.guest_xml(driver=attributes))
        self.nova._host = host
        self.patch(self.ours, 'host', host)
        mapping = [
            {'connection_info': base.connection_info(driver_volume_type=each)}
            for each in volumes
        ]
        self.nova.check_can_live_migrate_source(
            None, _SERVER, None, {'block_device_mapping': mapping}
        )
        disk = self.ours.get_config(base.connection_info(), base.DISK_INFO)
        written = base.driver_of(disk.to_xml())
        return {k: written[k] for k in ('iothread', 'queues') if k in written}

    @ddt.data(
        {'iothread': '1'}, {'queues': '7'}, {'iothread': '2', 'queues': '3'}
    )
    def test_tuning_of_the_guest_is_kept_by_migration(
        self, attributes: dict[str, str]
    ) -> None:
        self.assertEqual(attributes, self.migrate('rbd', **attributes))
        # A later guest of the same server has none.
        self.assertEqual({}, self.migrate('rbd'))

    @ddt.data(
        (('rbd', 'rbd'), 1), (('rbd', 'iscsi'), 1), (('iscsi',), 0), ((), 0)
    )
    @ddt.unpack
    def test_one_query_for_a_guest(
        self, volumes: tuple[str, ...], queries: int
    ) -> None:
        self.assertEqual({}, self.migrate(*volumes, cache='none'))
        self.assertEqual(queries, self.nova._host.asked)


@ddt.ddt
class DestinationTest(ComputeDriverTestCase):
    """The check on the destination of a live migration."""

    _GRANULARITY: ClassVar[Any] = {'discard_granularity': 65536}

    def check(self, libvirt: int = 11003000, **data: Any) -> None:
        """Run Nova's check for a server with one volume."""
        self.patch(driver, 'VOLUME_DRIVERS', {'rbd': contract.OUR_DRIVER})
        nova = self.make()
        ours = nova._get_volume_driver({'driver_volume_type': 'rbd'})
        host = base.FakeHost()
        host.libvirt = libvirt
        self.patch(ours, 'host', host)
        info = base.connection_info()
        info['data'].update(data)
        devices = [
            types.SimpleNamespace(
                is_volume=True,
                volume_id=base.VOLUME_ID,
                connection_info=json.dumps(info),
            ),
            types.SimpleNamespace(is_volume=False),
            types.SimpleNamespace(is_volume=True, connection_info=None),
        ]
        self.patch(
            objects.BlockDeviceMappingList,
            'get_by_instance_uuid',
            lambda context, server: devices,
        )
        nova.check_can_live_migrate_destination(None, _SERVER, None, None)

    @ddt.data(
        (11003000, {'cache_mode_in_force': 'unsafe', 'cache_mode': 'unsafe'}),
        (9000000, _GRANULARITY),
    )
    @ddt.unpack
    def test_guest_that_would_change_is_refused(
        self, libvirt: int, data: Any
    ) -> None:
        error = self.assertRaises(
            exception.MigrationPreCheckError, self.check, libvirt, **data
        )
        self.assertIn(base.VOLUME_ID, str(error))
        self.assertEqual([], self.stock)

    @ddt.data(
        (9000000, {}),
        (9000000, {'cache_mode': 'directsync'}),
        (9000000, {'cache_mode': 'unsafe', 'cache_mode_in_force': 'none'}),
        (
            9000000,
            {**_GRANULARITY, 'rbd_not_applied': ['rbd:discard_granularity']},
        ),
        (11003000, _GRANULARITY),
    )
    @ddt.unpack
    def test_guest_that_would_not_change_is_accepted(
        self, libvirt: int, data: Any
    ) -> None:
        self.set_options(allowed_modes='none')
        self.check(libvirt, **data)
        self.assertEqual(['check_can_live_migrate_destination'], self.stock)


class ConnectorTest(ComputeDriverTestCase):
    def test_connector_says_what_the_host_can_do(self) -> None:
        self.set_options(allowed_modes='none,writeback')
        self.patch(driver, 'VOLUME_DRIVERS', {'rbd': contract.OUR_DRIVER})
        nova = self.make()
        ours = nova._get_volume_driver({'driver_volume_type': 'rbd'})
        self.patch(ours, 'host', base.FakeHost())
        host = nova.get_volume_connector(None)['rbd_host']
        self.assertEqual(['none', 'writeback'], host['modes'])
        self.assertEqual('11.3.0', host['versions']['libvirt'])
        self.assertIn('rbd:discard_granularity', host['keys'])

    def test_libvirt_that_does_not_respond_prevents_no_attachment(
        self,
    ) -> None:
        self.patch(driver, 'VOLUME_DRIVERS', {'rbd': contract.OUR_DRIVER})
        nova = self.make()
        ours = nova._get_volume_driver({'driver_volume_type': 'rbd'})
        self.patch(ours, 'host', None)
        host = nova.get_volume_connector(None)['rbd_host']
        self.assertEqual(['rbd:detect_zeroes'], host['keys'])
        self.assertNotIn('libvirt', host['versions'])
