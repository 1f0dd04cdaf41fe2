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

"""Packages follow the import rules and have no circular imports."""

import ddt

from tests import tree
from tests.structure import circles
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
    """Tests for the check of the import rules."""

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


@ddt.ddt
class CirclesTestCase(base.TestCase):
    """Tests for circular imports."""

    def _sources(self, folder: str, *packages: str) -> dict[str, str]:
        """Return the source of modules in a folder, keyed by full name."""
        starts = tuple(f'{folder}{package}/' for package in packages)
        return {
            circles.module(name.removeprefix(folder)): (
                tree.ROOT / name
            ).read_text()
            for name in tree.files()
            if name.startswith(starts) and name.endswith('.py')
        }

    def test_packages_and_tests(self) -> None:
        sources = self._sources('', *tree.PACKAGES, 'tests')
        self.assertIn('cinder_rbd_ext.driver', sources)
        self.assertEqual([], circles.found(sources))

    @ddt.data(*tree.PACKAGES)
    def test_folders(self, package: str) -> None:
        """Folders of a package do not import each other in circles."""
        sources = self._sources('', package)
        self.assertEqual([], circles.found_between_folders(sources))

    def test_tools(self) -> None:
        sources = self._sources('tools/', 'sandbox_cloud', 'runner')
        self.assertIn('sandbox_cloud.services', sources)
        self.assertEqual([], circles.found(sources))

    def test_finds(self) -> None:
        sources = {
            'a': 'from a import b',
            'a.b': 'def later():\n    import a.c',
            'a.c': 'if TYPE_CHECKING:\n    from a.d import D',
            'a.d': 'from a import b\nimport os',
            'a.e': 'from a import d\nfrom a import b',
        }
        self.assertEqual(['a.b -> a.c -> a.d -> a.b'], circles.found(sources))

    def test_finds_folders(self) -> None:
        sources = {
            'p.a.one': 'from p.b import two',
            'p.b.two': '',
            'p.b.three': 'from p.c import four',
            'p.c.four': 'from p import d',
            'p.d': 'import p.a.five',
            'p.a.five': '',
        }
        self.assertEqual([], circles.found(sources))
        self.assertEqual(
            ['p.a -> p.b -> p.c -> p.d -> p.a'],
            circles.found_between_folders(sources),
        )

    def test_a_package_and_what_is_in_it(self) -> None:
        sources = {'a': 'from a.b import B', 'a.b': 'from a import VALUE'}
        self.assertEqual(['a -> a.b -> a'], circles.found(sources))
