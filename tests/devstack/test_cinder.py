# SPDX-License-Identifier: Apache-2.0

"""devstack/lib/cinder: the driver, the API extension and volume types."""

from tests.devstack import base
from tests.devstack import scratch

_STANDARD = 'cinder.api.contrib.standard_extensions'


class CinderTest(base.DevStackTestCase):
    conf = 'etc/cinder/cinder.conf'

    def _section(self, name: str) -> str:
        text = self.tree.read(self.conf)
        return text.partition(f'[{name}]\n')[2].partition('\n[')[0]

    def test_driver_on_rbd_back_ends_only(self) -> None:
        self.tree.check('stack', 'post-config')
        self.assertIn(base.DRIVER, self._section('ceph'))
        self.assertIn('LVMVolumeDriver', self._section('lvmdriver-1'))
        self.assertNotIn('rbd_', self._section('lvmdriver-1'))

    def test_a_second_cluster(self) -> None:
        text = scratch.CINDER_CONF.replace('lvmdriver-1', 'ceph2').replace(
            'lvm.LVMVolumeDriver', 'rbd.RBDDriver'
        )
        self.tree.write(self.conf, text)
        self.tree.check('stack', 'post-config')
        self.assertIn(base.DRIVER, self._section('ceph2'))

    def test_tenants_may_set_keys(self) -> None:
        self.tree.check('stack', 'post-config')
        self.assertIn('rbd_tenant_options = rbd:', self._section('ceph'))

    def test_tenants_may_set_none(self) -> None:
        self.tree.check(
            'stack', 'post-config', RBD_VOLUME_OPTIONS_TENANT_OPTIONS=''
        )
        self.assertNotIn('rbd_tenant_options', self._section('ceph'))

    def test_extension_beside_the_stock_ones(self) -> None:
        self.tree.check('stack', 'post-config')
        section = self._section('DEFAULT')
        for name in (_STANDARD, base.EXTENSION):
            line = f'osapi_volume_extension = {name}\n'
            self.assertEqual(1, section.count(line), section)

    def test_stock_extensions_are_named_where_none_was(self) -> None:
        line = f'osapi_volume_extension = {_STANDARD}\n'
        text = scratch.CINDER_CONF.replace(line, '')
        self.tree.write(self.conf, text)
        self.tree.check('stack', 'post-config')
        self.assertIn(line, self._section('DEFAULT'))

    def test_no_rbd_back_end(self) -> None:
        text = scratch.CINDER_CONF.replace('rbd.RBDDriver', 'nfs.NfsDriver')
        self.tree.write(self.conf, text)
        done = self.tree.run('stack', 'post-config')
        self.assertNotEqual(0, done.returncode)
        self.assertIn('RBD_VOLUME_OPTIONS_CINDER=False', done.stdout)
        self.assertEqual(text, self.tree.read(self.conf))

    def test_types_once_back_ends_have_reported(self) -> None:
        self.tree.check('stack', 'post-config')
        self.tree.check('stack', 'extra')
        calls = self.tree.calls()
        ensure = [call for call in calls if 'types ensure' in call]
        self.assertEqual(2, len(ensure), str(calls))
        self.assertEqual(
            ['ceph-striped', 'ceph-writeback'],
            self.tree.read('types').split(),
        )
        (striped,) = (
            c for c in calls if c.endswith('ceph-striped') and 'create' in c
        )
        self.assertIn('--property volume_backend_name=ceph ', striped)
        self.assertIn('--property rbd:stripe_count=16 ', striped)

    def test_types_are_made_once(self) -> None:
        self.tree.check('stack', 'post-config')
        self.tree.check('stack', 'extra')
        self.tree.check('stack', 'extra')
        self.assertEqual(2, len(self.tree.read('types').split()))

    def test_back_end_that_never_reports(self) -> None:
        self.tree.write('bin/cinder-rbd-ext', '#!/bin/sh\n')
        self.tree.check('stack', 'post-config')
        done = self.tree.run('stack', 'extra', SERVICE_TIMEOUT='3')
        self.assertNotEqual(0, done.returncode)
        self.assertIn('ceph has not reported', done.stdout)
        self.assertEqual('', self.tree.read('types'))

    def test_no_types_wanted(self) -> None:
        self.tree.check('stack', 'post-config')
        self.tree.check(
            'stack', 'extra', RBD_VOLUME_OPTIONS_SAMPLE_TYPES='False'
        )
        self.assertEqual('', self.tree.read('types'))
