# SPDX-License-Identifier: Apache-2.0

import pathlib
import subprocess
import sys
from unittest import mock

from oslo_config import cfg
from tempest import config as tempest_config

from rbd_tempest_plugin import plugin
from rbd_tempest_plugin import schemas
from rbd_tempest_plugin.services import options_client
from tests import tree
from tests.unit import base

# Runs in a process that must not import a service.
_ALONE = """
import sys
import rbd_tempest_plugin.plugin
import rbd_tempest_plugin.services.options_client
import rbd_tempest_plugin.tests.base
services = {'cinder', 'nova', 'glance', 'glance_store', 'horizon', 'os_brick'}
print(sorted(services & {name.partition('.')[0] for name in sys.modules}))
"""


class PluginTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.plugin = plugin.RBDVolumeOptionsTempestPlugin()

    def test_tests_are_where_it_says(self) -> None:
        folder, top = self.plugin.load_tests()
        self.assertEqual(
            pathlib.Path(folder),
            pathlib.Path(top) / 'rbd_tempest_plugin' / 'tests',
        )
        paths = list(pathlib.Path(folder).rglob('test_*.py'))
        self.assertNotEqual([], paths)
        for path in paths:
            for parent in path.relative_to(top).parents:
                package = pathlib.Path(top, parent, '__init__.py')
                self.assertTrue(parent == pathlib.Path() or package.exists())

    def test_options_are_registered_and_listed(self) -> None:
        conf = cfg.ConfigOpts()
        conf.register_group(cfg.OptGroup('service_available'))
        with mock.patch.object(
            schemas, 'add_attributes', autospec=True
        ) as added:
            self.plugin.register_opts(conf)
        added.assert_called_once_with()
        self.assertFalse(conf.service_available.rbd_volume_options)
        for group, options in self.plugin.get_opt_lists():
            for option in options:
                self.assertIn(option.dest, conf[group])

    def test_client_uses_the_service_of_volumes(self) -> None:
        with mock.patch.object(
            tempest_config,
            'service_client_config',
            autospec=True,
            return_value={'service': 'block-storage'},
        ) as made:
            (client,) = self.plugin.get_service_clients()
        made.assert_called_once_with('volume')
        self.assertEqual('block-storage', client['service'])
        self.assertEqual(options_client.__name__, client['module_path'])
        for name in client['client_names']:
            self.assertTrue(hasattr(options_client, name))

    def test_needs_no_service(self) -> None:
        done = subprocess.run(
            [sys.executable, '-c', _ALONE],
            cwd=tree.ROOT,
            capture_output=True,
            text=True,
        )
        self.assertEqual('[]', done.stdout.strip(), done.stderr)
