# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Each phase of the DevStack plug-in, on a scratch tree."""

import pathlib

import ddt
import fixtures

from tests import tree
from tests.devstack import scratch
from tests.unit import base

_EXTENSION = 'cinder_rbd_ext.api.extension.RBDVolumeOptions'
_STANDARD = 'cinder.api.contrib.standard_extensions'
_DRIVER = 'volume_driver = cinder_rbd_ext.driver.RBDExtDriver\n'
_ENABLED = 'horizon/openstack_dashboard/local/enabled'
# The plug-in's settings and programs are to be seen in none of these.
_SERVICES = ('c-vol', 'c-api', 'g-api', 'n-cpu', 'horizon', 'tempest')


class DevStackTestCase(base.TestCase):
    """A tree of its own for each test."""

    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.tree = scratch.DevStackTree(pathlib.Path(folder))

    def changed(self, before: dict[str, str]) -> set[str]:
        """Return the files that differ from a snapshot."""
        after = self.tree.snapshot()
        return {
            name
            for name in {*before, *after}
            if before.get(name) != after.get(name)
        }


class InstallTest(DevStackTestCase):
    def test_installs_the_checkout(self) -> None:
        self.tree.check('stack', 'install')
        self.assertIn(f'setup_develop {tree.ROOT} client', self.tree.calls())

    def test_changes_no_configuration(self) -> None:
        before = self.tree.snapshot()
        self.tree.check('stack', 'pre-install')
        self.tree.check('stack', 'install')
        self.assertEqual(set(), self.changed(before))

    def test_stops_where_ceph_comes_later(self) -> None:
        done = self.tree.run(
            'stack',
            'install',
            DEVSTACK_PLUGINS=',rbd-volume-options,devstack-plugin-ceph',
        )
        self.assertNotEqual(0, done.returncode)
        self.assertIn('enable it before', done.stdout)

    def test_needs_no_plugin_of_ceph(self) -> None:
        self.tree.check(
            'stack', 'install', DEVSTACK_PLUGINS=',rbd-volume-options'
        )

    def test_tells_its_name_and_what_it_needs(self) -> None:
        # DevStack does nothing with it; tools that write local.conf do.
        settings = (tree.ROOT / 'devstack' / 'settings').read_text()
        self.assertIn('\ndefine_plugin rbd-volume-options\n', settings)
        self.assertIn(
            '\nplugin_requires rbd-volume-options devstack-plugin-ceph\n',
            settings,
        )


class CinderTest(DevStackTestCase):
    conf = 'etc/cinder/cinder.conf'

    def _section(self, name: str) -> str:
        text = self.tree.read(self.conf)
        return text.partition(f'[{name}]\n')[2].partition('\n[')[0]

    def test_driver_on_rbd_back_ends_only(self) -> None:
        self.tree.check('stack', 'post-config')
        self.assertIn(_DRIVER, self._section('ceph'))
        self.assertIn('LVMVolumeDriver', self._section('lvmdriver-1'))
        self.assertNotIn('rbd_', self._section('lvmdriver-1'))

    def test_a_second_cluster(self) -> None:
        text = scratch.CINDER_CONF.replace('lvmdriver-1', 'ceph2').replace(
            'lvm.LVMVolumeDriver', 'rbd.RBDDriver'
        )
        self.tree.write(self.conf, text)
        self.tree.check('stack', 'post-config')
        self.assertIn(_DRIVER, self._section('ceph2'))

    def test_tenants_may_set_keys(self) -> None:
        self.tree.check('stack', 'post-config')
        self.assertIn('rbd_tenant_options = rbd:', self._section('ceph'))

    def test_settings_of_local_conf(self) -> None:
        self.tree.check(
            'stack',
            'post-config',
            RBD_VOLUME_OPTIONS_TENANT_OPTIONS='rbd:cache_mode',
            RBD_VOLUME_OPTIONS_MAX_STRIPE_COUNT='8',
        )
        section = self._section('ceph')
        self.assertIn('rbd_tenant_options = rbd:cache_mode\n', section)
        self.assertIn('rbd_max_stripe_count = 8\n', section)

    def test_tenants_may_set_none(self) -> None:
        self.tree.check(
            'stack', 'post-config', RBD_VOLUME_OPTIONS_TENANT_OPTIONS=''
        )
        self.assertNotIn('rbd_tenant_options', self._section('ceph'))

    def test_extension_beside_the_stock_ones(self) -> None:
        self.tree.check('stack', 'post-config')
        section = self._section('DEFAULT')
        for name in (_STANDARD, _EXTENSION):
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


class GlanceTest(DevStackTestCase):
    conf = 'etc/glance/glance-api.conf'

    def test_several_stores(self) -> None:
        self.tree.check('stack', 'post-config')
        text = self.tree.read(self.conf)
        self.assertIn(
            'enabled_backends = robust_rbd:rbd_objmap,fast:file\n', text
        )
        self.assertIn('default_backend = robust_rbd\n', text)
        self.assertIn('[robust_rbd]\nrbd_store_object_map = True\n', text)

    def test_spaces_and_several_of_the_type(self) -> None:
        text = scratch.SEVERAL_STORES.replace(
            'robust_rbd:rbd,fast:file', 'a:rbd, b:file, c: rbd'
        )
        self.tree.write(self.conf, text)
        self.tree.check('stack', 'post-config')
        self.assertIn(
            'enabled_backends = a:rbd_objmap, b:file, c: rbd_objmap\n',
            self.tree.read(self.conf),
        )

    def test_devstack_is_asked_for_several_stores(self) -> None:
        name = 'GLANCE_ENABLE_MULTIPLE_STORES'
        for value, environ in (
            ('True', {}),
            ('False', {name: 'False'}),
            ('', {'RBD_VOLUME_OPTIONS_GLANCE': 'no'}),
        ):
            self.tree.check('stack', 'pre-install', **environ)
            self.assertEqual(f'{name}={value}', self.tree.calls()[-1])

    def test_one_store_is_refused(self) -> None:
        self.tree.write(self.conf, scratch.ONE_STORE)
        done = self.tree.run('stack', 'post-config')
        self.assertNotEqual(0, done.returncode)
        self.assertIn('GLANCE_ENABLE_MULTIPLE_STORES=True', done.stdout)
        self.assertEqual(scratch.ONE_STORE, self.tree.read(self.conf))

    def test_no_ceph_for_glance(self) -> None:
        self.tree.write(self.conf, scratch.ONE_STORE)
        self.tree.check('stack', 'post-config', ENABLE_CEPH_GLANCE='False')
        self.assertEqual(scratch.ONE_STORE, self.tree.read(self.conf))

    def test_settings_of_local_conf(self) -> None:
        self.tree.check(
            'stack',
            'post-config',
            RBD_VOLUME_OPTIONS_IMAGE_OBJECT_MAP='no',
            RBD_VOLUME_OPTIONS_IMAGE_OBJECT_SIZE='4M',
        )
        text = self.tree.read(self.conf)
        self.assertIn('rbd_store_object_map = False\n', text)
        self.assertIn('rbd_store_object_size = 4M\n', text)

    def test_metadata_definitions(self) -> None:
        self.tree.check('stack', 'post-config')
        conf = self.tree.root / self.conf
        self.assertIn(
            f'glance-manage --config-file {conf} db_load_metadefs '
            f'{tree.ROOT}/etc/metadefs',
            self.tree.calls(),
        )

    def test_no_rbd_store(self) -> None:
        text = scratch.SEVERAL_STORES.replace(':rbd', ':cinder')
        self.tree.write(self.conf, text)
        done = self.tree.run('stack', 'post-config')
        self.assertNotEqual(0, done.returncode)
        self.assertIn('RBD_VOLUME_OPTIONS_GLANCE=False', done.stdout)


class NovaTest(DevStackTestCase):
    conf = 'etc/nova/nova.conf'

    def test_nothing_where_nothing_is_said(self) -> None:
        before = self.tree.read(self.conf)
        self.tree.check('stack', 'post-config')
        self.assertEqual(before, self.tree.read(self.conf))

    def test_allowed_modes(self) -> None:
        self.tree.check(
            'stack', 'post-config', RBD_VOLUME_OPTIONS_CACHE_MODES='none'
        )
        self.assertIn(
            '\n[rbd_cache]\nallowed_modes = none\n', self.tree.read(self.conf)
        )

    def test_left_out(self) -> None:
        self.tree.check(
            'stack', 'post-config', RBD_VOLUME_OPTIONS_NOVA='False'
        )
        self.assertIn(
            '\n[rbd_cache]\nenabled = False\n', self.tree.read(self.conf)
        )

    def test_waits_for_neutron_which_writes_there_too(self) -> None:
        size = len(self.tree.read(self.conf))
        self.tree.check(
            'stack', 'post-config', RBD_VOLUME_OPTIONS_NOVA='False'
        )
        self.assertIn(
            f'async_wait configure_neutron_nova before {size}',
            self.tree.calls(),
        )


class HorizonTest(DevStackTestCase):
    def test_enabled_file(self) -> None:
        self.tree.check('stack', 'post-config')
        source = tree.ROOT / 'horizon_volume_opts' / 'enabled'
        wanted = {path.name for path in source.glob('_[0-9]*.py')}
        self.assertNotEqual(set(), wanted)
        for name in wanted:
            self.assertEqual(
                (source / name).read_text(),
                self.tree.read(f'{_ENABLED}/{name}'),
            )


class TempestTest(DevStackTestCase):
    def _plugins(self, **environ: str) -> str:
        self.tree.check('stack', 'install', **environ)
        (last,) = (
            call
            for call in self.tree.calls()
            if call.startswith('TEMPEST_PLUGINS=')
        )
        return last.partition('=')[2]

    def test_plugin_is_installed(self) -> None:
        self.assertEqual(str(tree.ROOT), self._plugins())

    def test_plugin_beside_others(self) -> None:
        self.assertEqual(
            f'/opt/stack/cinder-tempest-plugin {tree.ROOT}',
            self._plugins(TEMPEST_PLUGINS='/opt/stack/cinder-tempest-plugin'),
        )

    def test_plugin_is_named_once(self) -> None:
        named = f'{tree.ROOT} /opt/stack/other'
        self.assertEqual(named, self._plugins(TEMPEST_PLUGINS=named))

    def test_no_tempest(self) -> None:
        self.assertEqual('0', self._plugins(ENABLED_SERVICES='c-vol'))

    def test_options(self) -> None:
        self.tree.check('stack', 'post-config')
        self.tree.check('stack', 'test-config')
        text = self.tree.read('tempest/etc/tempest.conf')
        section = text.partition('\n[rbd_volume_options]\n')[2]
        self.assertIn('volume_type = ceph\n', section)


@ddt.ddt
class ServicesTest(DevStackTestCase):
    """Only services of this node are touched, and only if asked to."""

    owned = {
        'c-vol': 'etc/cinder/cinder.conf',
        'c-api': 'etc/cinder/cinder.conf',
        'g-api': 'etc/glance/glance-api.conf',
        'n-cpu': 'etc/nova/nova.conf',
        'horizon': f'{_ENABLED}/_3110_rbd_volume_options.py',
        'tempest': 'tempest/etc/tempest.conf',
    }

    @ddt.data(*_SERVICES)
    def test_one_service(self, service: str) -> None:
        before = self.tree.snapshot()
        self.tree.stack(
            ENABLED_SERVICES=service, RBD_VOLUME_OPTIONS_CACHE_MODES='none'
        )
        self.assertEqual({self.owned[service]}, self.changed(before))

    def test_volume_service_without_api(self) -> None:
        self.tree.check('stack', 'post-config', ENABLED_SERVICES='c-vol')
        self.assertNotIn(_EXTENSION, self.tree.read(self.owned['c-vol']))

    def test_api_without_volume_service(self) -> None:
        self.tree.check('stack', 'post-config', ENABLED_SERVICES='c-api')
        self.assertNotIn(_DRIVER, self.tree.read(self.owned['c-api']))

    def test_nothing_enabled(self) -> None:
        before = self.tree.snapshot()
        self.tree.stack(ENABLED_SERVICES='key,mysql,rabbit')
        self.assertEqual(set(), self.changed(before))

    @ddt.data(
        ('CINDER', {'etc/cinder/cinder.conf'}),
        ('GLANCE', {'etc/glance/glance-api.conf'}),
        ('HORIZON', {f'{_ENABLED}/_3110_rbd_volume_options.py'}),
        ('TEMPEST', {'tempest/etc/tempest.conf'}),
    )
    @ddt.unpack
    def test_left_out(self, name: str, files: set[str]) -> None:
        before = self.tree.snapshot()
        self.tree.stack(**{f'RBD_VOLUME_OPTIONS_{name}': 'False'})
        self.assertEqual(set(), self.changed(before) & files)
        self.assertNotEqual(set(), self.changed(before))


class AgainAndBackTest(DevStackTestCase):
    """A second run changes nothing; clean undoes everything."""

    settings = {
        'RBD_VOLUME_OPTIONS_MAX_STRIPE_COUNT': '8',
        'RBD_VOLUME_OPTIONS_IMAGE_OBJECT_SIZE': '4M',
        'RBD_VOLUME_OPTIONS_CACHE_MODES': 'none,writeback',
    }

    def test_twice(self) -> None:
        self.tree.stack(**self.settings)
        once = self.tree.snapshot()
        self.tree.stack(**self.settings)
        self.assertEqual(once, self.tree.snapshot())

    def test_unstack_keeps_everything(self) -> None:
        self.tree.stack()
        stacked = self.tree.snapshot()
        self.tree.check('unstack')
        self.assertEqual(stacked, self.tree.snapshot())

    def test_clean(self) -> None:
        before = self.tree.snapshot()
        self.tree.stack(**self.settings)
        nova = self.tree.read('etc/nova/nova.conf')
        # As DevStack does when it starts nova-compute.
        self.tree.write('etc/nova/nova-cpu.conf', nova)
        self.assertNotEqual(set(), self.changed(before))
        self.tree.check('unstack')
        self.tree.check('clean')
        self.assertEqual(before, self.tree.snapshot())

    def test_clean_of_what_was_left_out(self) -> None:
        before = self.tree.snapshot()
        self.tree.stack(RBD_VOLUME_OPTIONS_NOVA='False')
        self.tree.check('clean')
        self.assertEqual(before, self.tree.snapshot())

    def test_clean_twice(self) -> None:
        before = self.tree.snapshot()
        self.tree.stack()
        self.tree.check('clean')
        self.tree.check('clean')
        self.assertEqual(before, self.tree.snapshot())

    def test_clean_of_nothing(self) -> None:
        for name in self.tree.snapshot():
            (self.tree.root / name).unlink()
        self.tree.check('clean')
        self.assertEqual({}, self.tree.snapshot())

    def test_clean_keeps_what_others_wrote(self) -> None:
        self.tree.stack(**self.settings)
        conf = 'etc/nova/nova.conf'
        text = self.tree.read(conf).replace(
            '[rbd_cache]\n', '[rbd_cache]\nephemeral_object_map = true\n'
        )
        self.tree.write(conf, text)
        self.tree.check('clean')
        self.assertIn(
            '[rbd_cache]\nephemeral_object_map = true\n', self.tree.read(conf)
        )

    def test_clean_uninstalls(self) -> None:
        self.tree.check('clean')
        self.assertIn(
            f'pip_uninstall rbd-volume-options from {self.tree.root}/venv',
            self.tree.calls(),
        )
