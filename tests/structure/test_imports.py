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

"""The import arrows of the packages hold."""

import ddt

from testrun import tree
from tests.structure import imports
from tests.unit import base

_NEUTRAL = 'rbd_volume_options'


@ddt.ddt
class ArrowsTestCase(base.TestCase):
    @ddt.data(*tree.PACKAGES)
    def test_package(self, package: str) -> None:
        modules = [
            name
            for name in tree.files()
            if name.startswith(f'{package}/') and name.endswith('.py')
        ]
        self.assertNotEqual([], modules)
        found = [
            f'{name}: {violation}'
            for name in modules
            for violation in imports.violations(
                self._owner(name, package), (tree.ROOT / name).read_text()
            )
        ]
        self.assertEqual([], found)

    def _owner(self, name: str, package: str) -> str:
        folder = imports.TEMPEST.replace('.', '/')
        return imports.TEMPEST if name.startswith(f'{folder}/') else package


@ddt.ddt
class CheckerTestCase(base.TestCase):
    """The check above finds what it is there to find."""

    @ddt.data(
        ('cinder_rbd_ext', 'import nova_rbd_cache'),
        ('cinder_rbd_ext', 'from nova_rbd_cache import driver'),
        ('cinder_rbd_ext', 'from nova.virt import driver'),
        ('cinder_rbd_ext', 'def f():\n    import glance_store_objmap.store'),
        ('cinder_rbd_ext', "importlib.import_module('horizon.forms')"),
        ('cinder_rbd_ext', "__import__('nova_rbd_cache')"),
        ('cinder_rbd_ext', 'from tests.unit import base'),
        ('nova_rbd_cache', 'import cinder.volume'),
        (_NEUTRAL, 'import oslo_config.cfg'),
        (_NEUTRAL, 'import rbd'),
        (_NEUTRAL, 'import logging'),
        (_NEUTRAL, 'from cinder_rbd_ext import opts'),
        (_NEUTRAL, 'if TYPE_CHECKING:\n    import cinder'),
        ('cinder_rbd_ext', 'import tempest'),
        ('cinder_rbd_ext', 'from cinder_rbd_ext import tempest'),
        ('cinder_rbd_ext', 'from cinder_rbd_ext.tempest import config'),
        ('nova_rbd_cache', 'from tempest import config'),
        (_NEUTRAL, 'from tempest.lib import decorators'),
        (imports.TEMPEST, 'import cinder'),
        (imports.TEMPEST, 'import nova.conf'),
        (imports.TEMPEST, 'from cinder_rbd_ext import opts'),
        (imports.TEMPEST, 'import nova_rbd_cache.opts'),
    )
    @ddt.unpack
    def test_finds(self, package: str, source: str) -> None:
        self.assertEqual(1, len(imports.violations(package, source)))

    @ddt.data(
        ('cinder_rbd_ext', 'from cinder.volume.drivers import rbd'),
        ('cinder_rbd_ext', 'from rbd_volume_options import layout'),
        ('cinder_rbd_ext', 'from oslo_config import cfg\nimport rados'),
        ('nova_rbd_cache', 'import os_vif\nimport nova.conf'),
        (_NEUTRAL, 'import dataclasses\nfrom collections import abc'),
        (_NEUTRAL, f'from {_NEUTRAL} import errors'),
        (imports.TEMPEST, 'from tempest import config\nimport oslo_config'),
        (imports.TEMPEST, 'from cinder_rbd_ext.tempest import schemas'),
        (imports.TEMPEST, f'from {_NEUTRAL} import keys'),
    )
    @ddt.unpack
    def test_allows(self, package: str, source: str) -> None:
        self.assertEqual([], imports.violations(package, source))
