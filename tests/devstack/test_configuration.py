# SPDX-License-Identifier: Apache-2.0

"""The services' options accept the files that the plug-in writes.

The options of the real services parse the files; no text is compared.
``tests/cloud/test_devstack.py`` starts the services with these files.
"""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from cinder.common import config as cinder_config
from cinder.volume.drivers import rbd
import fixtures
from oslo_config import cfg
from oslo_utils import importutils

from nova_rbd_cache import opts as nova_opts
from tests.devstack import scratch
from tests.structure import built
from tests.unit import base

_SETTINGS = {
    'RBD_VOLUME_OPTIONS_MAX_STRIPE_COUNT': '8',
    'RBD_VOLUME_OPTIONS_IMAGE_OBJECT_SIZE': '4M',
    'RBD_VOLUME_OPTIONS_CACHE_MODES': 'none,writeback',
}

# Entry points are loaded from the installed wheel.
_GLANCE = """
import json, sys
from glance_store import multi_backend
from oslo_config import cfg
conf = cfg.ConfigOpts()
conf.register_opt(cfg.Opt('enabled_backends', cfg.types.Dict()))
conf([], default_config_files=[sys.argv[1]])
multi_backend.register_store_opts(
    conf, {'os_glance_staging_store': 'file', 'os_glance_tasks_store': 'file'})
store = conf.robust_rbd
print(json.dumps([
    conf.enabled_backends, conf.glance_store.default_backend,
    str(store.rbd_store_object_map), store.rbd_store_object_size,
    store.rbd_store_pool]))
"""
_TEMPEST = """
import json
from tempest import config
print(json.dumps([
    config.CONF.service_available.rbd_volume_options,
    config.CONF.rbd_volume_options.volume_type,
    config.CONF.rbd_volume_options_feature_enabled.cache_mode]))
"""


class ConfigurationTest(base.TestCase):
    timeout = 180

    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.tree = scratch.DevStackTree(pathlib.Path(folder))
        self.wheel = self.useFixture(built.BuiltDistribution()).built

    def _conf(self, name: str) -> Any:
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[str(self.tree.root / name)])
        return conf

    def _load(self, program: str, conf: str, **environ: str) -> Any:
        """Run a program on a file with the wheel installed.

        Return the JSON that it prints.
        """
        done = subprocess.run(
            [sys.executable, '-c', program, str(self.tree.root / conf)],
            cwd=self.tree.root,
            env={
                **os.environ,
                'PYTHONPATH': str(self.wheel.installed),
                **environ,
            },
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def test_cinder_is_configured(self) -> None:
        self.tree.stack(**_SETTINGS)
        conf = self._conf('etc/cinder/cinder.conf')
        conf.register_opts(cinder_config.api_opts)
        conf.register_opts(cinder_config.global_opts)
        self.assertEqual(
            {
                'cinder.api.contrib.standard_extensions',
                'cinder_rbd_ext.api.extension.RBDVolumeOptions',
            },
            set(conf.osapi_volume_extension),
        )
        self.assertEqual(2, len(conf.osapi_volume_extension))
        for name in conf.osapi_volume_extension:
            self.assertTrue(callable(importutils.import_class(name)))
        conf.register_opts(
            [cfg.StrOpt('volume_driver'), *rbd.RBD_OPTS], group='ceph'
        )
        driver = importutils.import_class(conf.ceph.volume_driver)
        self.assertTrue(issubclass(driver, rbd.RBDDriver))
        conf.register_opts(driver.get_driver_options(), group='ceph')
        self.assertEqual(8, conf.ceph.rbd_max_stripe_count)
        self.assertEqual(6, len(conf.ceph.rbd_tenant_options.split(',')))
        # The settings of devstack-plugin-ceph are kept.
        self.assertEqual('volumes', conf.ceph.rbd_pool)

    def test_glance_has_the_store(self) -> None:
        self.tree.stack(**_SETTINGS)
        values = self._load(_GLANCE, 'etc/glance/glance-api.conf')
        stores = {'robust_rbd': 'rbd_objmap', 'fast': 'file'}
        self.assertEqual(
            [stores, 'robust_rbd', 'True', '4M', 'images'], values
        )

    def test_nova_has_the_allowed_modes(self) -> None:
        self.tree.stack(**_SETTINGS)
        conf = self._conf('etc/nova/nova.conf')
        nova_opts.register(conf)
        self.assertEqual('none,writeback', conf.rbd_cache.allowed_modes)

    def test_tempest_knows_the_options(self) -> None:
        self.tree.stack(**_SETTINGS)
        folder = self.tree.root / 'tempest' / 'etc'
        values = self._load(
            _TEMPEST,
            'tempest/etc/tempest.conf',
            TEMPEST_CONFIG_DIR=str(folder),
            TEMPEST_CONFIG='tempest.conf',
        )
        self.assertEqual([True, 'ceph', True], values)
