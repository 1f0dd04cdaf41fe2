# SPDX-License-Identifier: Apache-2.0

"""The DevStack plug-in's configuration works with the sandbox's services.

The sandbox's files with stock drivers stand for those that DevStack creates.
After the plug-in has changed them, the services load them on the real cluster
as they do at startup.
"""

import configparser
import json
import os
import pathlib
import re
import subprocess
from typing import Any

import fixtures

from tests import runs
from tests.cloud import base
from tests.devstack import scratch

_CINDER = """
import json, sys
import eventlet
eventlet.monkey_patch()
from cinder import context, objects, rpc
objects.register_all()
from cinder.api import extensions
from cinder.common import config
from cinder.volume import manager
config.CONF(['--config-file', sys.argv[1]], project='cinder')
rpc.init(config.CONF)
volumes = manager.VolumeManager(host='scratch@rbd', service_name='rbd')
driver = volumes.driver
driver.do_setup(context.get_admin_context())
driver.check_for_setup_error()
stats = driver.get_volume_stats(True)
print(json.dumps({
    'driver': type(driver).__name__,
    'extensions': sorted(extensions.ExtensionManager().extensions),
    'capability': stats.get('rbd_volume_options'),
    'stripe count': stats.get('rbd_max_stripe_count')}))
"""

# Glance's API registers its own reserved stores in this way.
_GLANCE = """
import json, sys
import glance_store
from glance.common import config, wsgi_app
from glance_store import multi_backend
config.parse_args(args=['--config-file', sys.argv[1]])
conf = config.CONF
glance_store.register_store_opts(
    conf, reserved_stores=wsgi_app.RESERVED_STORES)
glance_store.create_multi_stores(
    conf, reserved_stores=wsgi_app.RESERVED_STORES)
multi_backend.verify_store()
store = multi_backend.get_store_from_store_identifier('rbd1')
print(json.dumps({
    'class': type(store).__module__,
    'stores': sorted(
        set(conf.enabled_backends) - set(wsgi_app.RESERVED_STORES))}))
"""


# The part devstack runs each phase of the plug-in.
@runs.tags(runs.NIGHTLY)
class DevStackTest(base.CloudTestCase):
    """Apply the plug-in to the sandbox's files, as DevStack creates them."""

    timeout = 600

    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.tree = scratch.DevStackTree(pathlib.Path(folder))
        self.etc = pathlib.Path(os.environ['OS_CLIENT_CONFIG_FILE'])
        self.etc = self.etc.parent / 'etc'

    def _stock(self, name: str, *changes: tuple[str, str]) -> pathlib.Path:
        """Write a file of the sandbox into the tree, without the suite."""
        text = (self.etc / name).read_text()
        for pattern, replacement in changes:
            text, count = re.subn(pattern, replacement, text, flags=re.M)
            self.assertGreater(count, 0, pattern)
        return self.tree.write(f'etc/{name}', text)

    def _load(self, program: str, conf: pathlib.Path) -> Any:
        """Run a program with the Python of the sandbox's services."""
        cinder = configparser.RawConfigParser(strict=False)
        cinder.read(self.etc / 'cinder' / 'cinder.conf')
        paste = pathlib.Path(cinder['DEFAULT']['api_paste_config'])
        done = subprocess.run(
            [paste.parents[2] / 'bin' / 'python', '-c', program, conf],
            env={'PATH': os.environ['PATH'], 'HOME': str(self.tree.root)},
            cwd=self.tree.root,
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def test_plug_in_configures_cinder_as_the_sandbox(self) -> None:
        conf = self._stock(
            'cinder/cinder.conf',
            (
                r'cinder_rbd_ext\.driver\.RBDExtDriver',
                'cinder.volume.drivers.rbd.RBDDriver',
            ),
            (r'^osapi_volume_extension = cinder_rbd_ext.*\n', ''),
            (r'^rbd_(tenant_options|max_stripe_count) = .*\n', ''),
            (r'^rbd_volume_data_pool = .*\n', ''),
        )
        stock = self._load(_CINDER, conf)
        self.assertEqual('RBDDriver', stock['driver'])
        self.tree.check(
            'stack',
            'post-config',
            ENABLED_SERVICES='c-api,c-vol',
            RBD_VOLUME_OPTIONS_MAX_STRIPE_COUNT='8',
        )
        loaded = self._load(_CINDER, conf)
        self.assertEqual('RBDExtDriver', loaded['driver'])
        self.assertEqual(
            {'os-rbd-volume-options'},
            set(loaded['extensions']) - set(stock['extensions']),
        )
        self.assertIs(True, loaded['capability'])
        self.assertEqual(8, loaded['stripe count'])
        self.tree.check('clean')
        self.assertEqual(stock, self._load(_CINDER, conf))

    def test_plug_in_configures_glance_as_the_sandbox(self) -> None:
        conf = self._stock(
            'glance/glance-api.conf',
            (':rbd_objmap', ':rbd'),
            (r'^rbd_store_object_\w+ = .*\n', ''),
        )
        stock = self._load(_GLANCE, conf)
        self.assertEqual('glance_store._drivers.rbd', stock['class'])
        self.tree.check('stack', 'post-config', ENABLED_SERVICES='g-api')
        loaded = self._load(_GLANCE, conf)
        self.assertEqual('glance_store_objmap.store', loaded['class'])
        self.assertEqual(stock['stores'], loaded['stores'])
        self.tree.check('clean')
        self.assertEqual(stock, self._load(_GLANCE, conf))
