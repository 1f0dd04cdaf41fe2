# SPDX-License-Identifier: Apache-2.0

"""Test the findings about a compute host."""

from importlib import metadata
import types
from typing import Any
import uuid

import ddt
from nova.virt.libvirt import driver
from oslo_utils import importutils

from nova_rbd_cache import check
from tests.unit.nova_rbd_cache import base
from tests.unit.nova_rbd_cache import test_registration

_POINT = metadata.EntryPoint(
    'rbd_cache', 'nova_rbd_cache.plugin:RBDCachePlugin', 'os_vif'
)


@ddt.ddt
class FindingsTest(test_registration.RegistrationTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.points: list[metadata.EntryPoint] = [_POINT]
        self.patch(metadata, 'entry_points', lambda group: self.points)

    def _found(self) -> dict[str, check.Finding]:
        return {each.subject: each for each in check.findings(self.conf)}

    def _failed(self) -> dict[str, str]:
        return {
            subject: each.detail
            for subject, each in self._found().items()
            if not each.ok
        }

    def test_active_plug_in_has_no_failed_finding(self) -> None:
        self.set_options('libvirt', disk_cachemodes=['network=writeback'])
        findings = self._found()
        self.assertEqual({}, self._failed())
        for subject, detail in (
            ('registration', 'nova_rbd_cache.volume.RBDCacheVolumeDriver'),
            ('allowed modes', 'none, writethrough, writeback, directsync'),
            ('mode of other volumes', 'network=writeback'),
            ('ephemeral disks', 'stock features'),
            ('compute driver', 'libvirt.LibvirtDriver'),
            (
                'traits',
                'CUSTOM_RBD_CACHE_NONE, CUSTOM_RBD_CACHE_WRITETHROUGH, '
                'CUSTOM_RBD_CACHE_WRITEBACK, CUSTOM_RBD_CACHE_DIRECTSYNC',
            ),
        ):
            self.assertEqual(detail, findings[subject].detail)

    def test_not_installed_there(self) -> None:
        self.points.clear()
        self.assertEqual(['entry point'], list(self._failed()))

    def test_does_not_load(self) -> None:
        self.points[:] = [
            metadata.EntryPoint('rbd_cache', 'no_such_module:Plugin', 'os_vif')
        ]
        self.assertIn('no_such_module', self._failed()['entry point'])

    def test_not_enabled(self) -> None:
        before = self.state()
        self.set_options(enabled=False)
        self.assertEqual(
            {'enabled': '[rbd_cache] enabled = False'}, self._failed()
        )
        self.assertEqual(before, self.state())

    def test_other_compute_driver(self) -> None:
        self.conf.set_override('compute_driver', 'ironic.IronicDriver')
        self.assertEqual(
            {'compute driver': 'ironic.IronicDriver'}, self._failed()
        )

    def test_wrong_options(self) -> None:
        self.set_options(
            ephemeral_object_map='true', ephemeral_image_features='layering'
        )
        self.assertIn('ephemeral_object_map', self._failed()['options'])

    def test_nova_is_not_as_we_know_it(self) -> None:
        driver.VOLUME_DRIVERS['rbd'] = 'other.Driver'
        failed = self._failed()
        self.assertEqual({'interfaces of Nova', 'registration'}, set(failed))
        self.assertIn('other.Driver', failed['registration'])

    def test_stock_class_by_another_name(self) -> None:
        self.conf.set_override(
            'compute_driver', 'libvirt.driver.LibvirtDriver'
        )
        failed = self._failed()
        self.assertEqual({'interfaces of Nova', 'registration'}, set(failed))
        self.assertIn(
            'set compute_driver = libvirt.LibvirtDriver',
            failed['interfaces of Nova'],
        )

    def test_driver_does_not_load(self) -> None:
        def import_class(name: str) -> None:
            raise ImportError(f'no {name}')

        self.patch(importutils, 'import_class', import_class)
        self.assertIn('no nova_rbd', self._failed()['registration'])

    @ddt.data(
        ({'ephemeral_object_map': 'true'}, 'object map: True'),
        ({'cloud_id': str(uuid.uuid4())}, 'stock features'),
        (
            {'ephemeral_image_features': 'layering,exclusive-lock'},
            'exclusive-lock,layering',
        ),
    )
    @ddt.unpack
    def test_disks_of_servers(
        self, options: dict[str, str], detail: str
    ) -> None:
        self.set_options(**options)
        self.assertEqual(detail, self._found()['ephemeral disks'].detail)

    def test_disks_of_volumes_where_they_differ(self) -> None:
        self.assertNotIn('disks of volumes', self._found())
        self.set_options(disk_queues=4)
        detail = self._found()['disks of volumes'].detail
        self.assertEqual('no I/O thread, queues: 4', detail)
        self.set_options(disk_iothread=True, disk_queues=None)
        detail = self._found()['disks of volumes'].detail
        self.assertEqual(
            "the guest's I/O thread, queues: default of QEMU", detail
        )


@ddt.ddt
class LibvirtTest(base.NovaTestCase):
    def _libvirt(self, module: Any) -> check.Finding:
        self.patch(importutils, 'import_module', module)
        return check.libvirt(self.conf)

    @ddt.data(
        (9007000, 'libvirt 9.7.0, QEMU 7.2.0'),
        (
            9000000,
            'libvirt 9.0.0, QEMU 7.2.0; volumes with '
            'rbd:discard_granularity cannot be attached: it requires the '
            'Nova plug-in and libvirt 9.7.0',
        ),
    )
    @ddt.unpack
    def test_versions_are_read_at_the_configured_uri(
        self, version: int, detail: str
    ) -> None:
        connection = types.SimpleNamespace(
            getLibVersion=lambda: version,
            getVersion=lambda: 7002000,
            close=lambda: None,
        )
        asked: list[str] = []

        def opened(uri: str) -> Any:
            asked.append(uri)
            return connection

        self.set_options('libvirt', connection_uri='qemu+unix:///session')
        finding = self._libvirt(
            lambda name: types.SimpleNamespace(openReadOnly=opened)
        )
        self.assertTrue(finding.ok)
        self.assertEqual(detail, finding.detail)
        self.assertEqual({'qemu+unix:///session'}, set(asked))

    def test_not_there(self) -> None:
        def missing(name: str) -> None:
            raise ImportError(f'No module named {name!r}')

        finding = self._libvirt(missing)
        self.assertFalse(finding.ok)
        self.assertEqual("No module named 'libvirt'", finding.detail)
