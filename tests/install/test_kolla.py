# SPDX-License-Identifier: Apache-2.0

"""The page on Kolla: images of each release and merged configuration."""

import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import ddt

from sandbox_cloud import state
from tests import runs
from tests import tree
from tests.install import fresh
from tests.install import kolla
from tests.structure import built
from tests.unit import base

#: The images that get the wheel; the images of a service are based on them.
_IMAGES = ('cinder-base', 'glance-base')
#: The images that get the source archive as a plug-in of Kolla.
_PLUGGED = ('nova-base', 'horizon')
_ARCHIVE = 'https://WEB-SERVER/rbd_volume_options-VERSION.tar.gz'
_PIP = re.compile(r'python3 -m pip .*\binstall\b.*')
#: The page's placeholders for the operator's values.
_WHEEL = 'https://WEB-SERVER/rbd_volume_options-VERSION-py3-none-any.whl'
_FOOTER = 'RUN cd '
_ENABLED = '_3110_rbd_volume_options.py'
# Paths that exist in an image but not in a virtual environment.
_VENV = '/var/lib/kolla/venv'
_UPPER = '/requirements/upper-constraints.txt'
_STOCK = 'cinder.api.contrib.standard_extensions'
_OURS = 'cinder_rbd_ext.api.extension.RBDVolumeOptions'

# The services read their files in the same way.
_CINDER = """
import json, sys
from oslo_config import cfg
from cinder.common import config
config.CONF(['--config-file', sys.argv[1]], project='cinder')
drivers = {}
for name in config.CONF.enabled_backends or ():
    config.CONF.register_opt(cfg.StrOpt('volume_driver'), name)
    drivers[name] = config.CONF[name].volume_driver
print(json.dumps([config.CONF.osapi_volume_extension, drivers]))
"""
# Glance is not installed in the test environment.
_GLANCE = """
import json, sys
from oslo_config import cfg
from glance_store_objmap import opts
conf = cfg.ConfigOpts()
conf.register_opt(cfg.DictOpt('enabled_backends'))
conf.register_opts(opts.STORE_OPTS, 'rbd')
conf(['--config-file', sys.argv[1]], project='glance')
print(json.dumps([conf.enabled_backends, conf.rbd.rbd_store_object_map]))
"""
_NOVA = """
import json, sys
from nova import config
from nova_rbd_cache import opts
config.parse_args(['nova-compute', '--config-file', sys.argv[1]])
opts.register(config.CONF)
print(json.dumps(str(config.CONF.rbd_cache.allowed_modes)))
"""


@ddt.ddt
class KollaTest(base.TestCase):
    timeout = 900

    @runs.nightly_after(1)
    @ddt.data(*reversed(state.releases()))
    def test_kolla_files_are_valid_for_the_release(self, release: str) -> None:
        files = self.useFixture(kolla.Kolla(release))
        self._check_images(files.dockerfiles())
        plugged = {x for x, y in files.plugins().items() if _ARCHIVE in y}
        self.assertEqual(set(_PLUGGED), plugged)
        if files.has_ansible:
            self._check_configuration(files.merged())

    def _check_images(self, files: dict[str, str]) -> None:
        having = {image for image, text in files.items() if _WHEEL in text}
        self.assertEqual(set(_IMAGES), having)
        for image in _IMAGES:
            (pip,) = (
                line for line in _PIP.findall(files[image]) if _WHEEL in line
            )
            # Installed in one step with the service, with its constraints.
            self.assertIn(f' /{image.removesuffix("-base")} ', pip)
            self.assertIn(f' -c {_UPPER} ', pip)
        # The suite's commands need this client.
        self.assertIn(' python-openstackclient ', files['openstack-base'])
        before, _, footer = files['horizon'].partition(_FOOTER)
        self.assertIn(' /plugins/*', before)
        self.assertIn(_ENABLED, footer)
        # The step runs as root, as the steps before it.
        self.assertNotIn('\nUSER', before)

    def _check_configuration(self, files: dict[str, pathlib.Path]) -> None:
        self.assertEqual(
            [[_STOCK, _OURS], {}],
            self._read(_CINDER, files['cinder-api/cinder.conf']),
        )
        self.assertEqual(
            [[_STOCK], {'rbd-1': 'cinder_rbd_ext.driver.RBDExtDriver'}],
            self._read(_CINDER, files['cinder-volume/cinder.conf']),
        )
        self.assertEqual(
            [
                {'http': 'http', 'cinder': 'cinder', 'rbd': 'rbd_objmap'},
                'true',
            ],
            self._read(_GLANCE, files['glance-api/glance-api.conf']),
        )
        self.assertEqual(
            'none,writeback',
            self._read(_NOVA, files['nova-compute/nova.conf']),
        )
        self.assertNotIn(
            '[rbd_cache]', files['nova-conductor/nova.conf'].read_text()
        )

    def _read(self, code: str, path: pathlib.Path) -> Any:
        """Read a file with the options of a service."""
        done = subprocess.run(
            [sys.executable, '-c', code, str(path)],
            cwd=tree.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    @runs.tags(runs.NIGHTLY)
    def test_steps_of_the_image(self) -> None:
        """Run the suite's Dockerfile steps in a virtual environment."""
        build = self.useFixture(built.BuiltDistribution()).built
        venv = self.useFixture(fresh.FreshVenv('horizon', build.wheel))
        before = venv.distributions()
        # The base image has this link for any version of Python.
        (venv.path / 'lib/python3').symlink_to(venv.site.parent.name)
        release = os.environ.get(fresh.RELEASE, state.releases()[-1])
        text = self.useFixture(kolla.Kolla(release)).dockerfiles()['horizon']
        (pip,) = (line for line in _PIP.findall(text) if '/plugins/*' in line)
        upper = tree.ROOT / 'constraints' / f'{release}.txt'
        for image, here in (
            ('python3 -m pip', 'pip'),
            (_UPPER, str(upper)),
            ('/plugins/*', str(build.sdist)),
            ('\\', ''),
            (';', ''),
        ):
            pip = pip.replace(image, here)
        footer = text.partition(_FOOTER)[2].replace(_VENV, str(venv.path))
        venv.execute('sh', '-euxc', f'{pip}\ncd {footer}')
        self.assertLessEqual(before | {fresh.SUITE}, venv.distributions())
        enabled = venv.site / 'openstack_dashboard/local/enabled'
        self.assertTrue((enabled / _ENABLED).is_file())
