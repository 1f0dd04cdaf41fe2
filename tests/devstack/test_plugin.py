# SPDX-License-Identifier: Apache-2.0

"""Phases of devstack/plugin.sh and the services that they change."""

import ddt

from tests import tree
from tests.devstack import base

# Services that the plug-in configures.
_SERVICES = ('c-vol', 'c-api', 'g-api', 'n-cpu', 'horizon', 'tempest')


class InstallTest(base.DevStackTestCase):
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
        # DevStack ignores it; tools that write local.conf use it.
        settings = (tree.ROOT / 'devstack' / 'settings').read_text()
        self.assertIn('\ndefine_plugin rbd-volume-options\n', settings)
        self.assertIn(
            '\nplugin_requires rbd-volume-options devstack-plugin-ceph\n',
            settings,
        )


@ddt.ddt
class ServicesTest(base.DevStackTestCase):
    """Change only services that run on this node and are not excluded."""

    owned = {
        'c-vol': 'etc/cinder/cinder.conf',
        'c-api': 'etc/cinder/cinder.conf',
        'g-api': 'etc/glance/glance-api.conf',
        'n-cpu': 'etc/nova/nova.conf',
        'horizon': f'{base.ENABLED}/_3110_rbd_volume_options.py',
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
        self.assertNotIn(base.EXTENSION, self.tree.read(self.owned['c-vol']))

    def test_api_without_volume_service(self) -> None:
        self.tree.check('stack', 'post-config', ENABLED_SERVICES='c-api')
        self.assertNotIn(base.DRIVER, self.tree.read(self.owned['c-api']))

    def test_nothing_enabled(self) -> None:
        before = self.tree.snapshot()
        self.tree.stack(ENABLED_SERVICES='key,mysql,rabbit')
        self.assertEqual(set(), self.changed(before))

    @ddt.data(
        ('CINDER', {'etc/cinder/cinder.conf'}),
        ('GLANCE', {'etc/glance/glance-api.conf'}),
        ('HORIZON', {f'{base.ENABLED}/_3110_rbd_volume_options.py'}),
        ('TEMPEST', {'tempest/etc/tempest.conf'}),
    )
    @ddt.unpack
    def test_left_out(self, name: str, files: set[str]) -> None:
        before = self.tree.snapshot()
        self.tree.stack(**{f'RBD_VOLUME_OPTIONS_{name}': 'False'})
        self.assertEqual(set(), self.changed(before) & files)
        self.assertNotEqual(set(), self.changed(before))


class RepeatedAndCleanedTest(base.DevStackTestCase):
    """A second run changes nothing; clean reverts all changes."""

    settings = {
        'RBD_VOLUME_OPTIONS_MAX_STRIPE_COUNT': '8',
        'RBD_VOLUME_OPTIONS_IMAGE_OBJECT_SIZE': '4M',
        'RBD_VOLUME_OPTIONS_CACHE_MODES': 'none,writeback',
    }

    def test_second_stack_changes_nothing(self) -> None:
        self.tree.stack(**self.settings)
        once = self.tree.snapshot()
        self.tree.stack(**self.settings)
        self.assertEqual(once, self.tree.snapshot())

    def test_unstack_keeps_everything(self) -> None:
        self.tree.stack()
        stacked = self.tree.snapshot()
        self.tree.check('unstack')
        self.assertEqual(stacked, self.tree.snapshot())

    def test_clean_restores_the_files(self) -> None:
        before = self.tree.snapshot()
        self.tree.stack(**self.settings)
        nova = self.tree.read('etc/nova/nova.conf')
        # DevStack writes this file when it starts nova-compute.
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
