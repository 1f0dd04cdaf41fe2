# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterator
import csv
import importlib
import re
import subprocess
import sys
from typing import Any

from cinder_rbd_ext import releases
from rbd_volume_options import definitions
from tests import runs
from tests import tree
from tests.unit.cinder_rbd_ext.api import base


class ImportTest(base.ApiTestCase):
    def test_extension_can_be_imported_first(self) -> None:
        """Some of Cinder's modules must not be the first to be imported."""
        command = 'import cinder_rbd_ext.api.extension'
        done = subprocess.run(
            [sys.executable, '-c', command],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)


@runs.tags(runs.RELEASES)
class LoadedTest(base.ApiTestCase):
    """Tests with the extension in osapi_volume_extension."""

    def test_extension_is_listed(self) -> None:
        path = f'/extensions/{definitions.ALIAS}'
        extension = self.ok('GET', path)['extension']
        self.assertEqual('RBDVolumeOptions', extension['name'])
        self.assertIn('Ceph RBD', extension['description'])


class NotLoadedTest(base.ApiTestCase):
    """Tests without the extension: only the driver refuses requests."""

    extensions = (base.STOCK,)

    def test_nothing_is_checked_or_shown(self) -> None:
        self.ok('POST', '/volumes', self.create({'rbd:object_size': '3M'}))
        response = self.call('GET', f'/{definitions.ALIAS}')
        self.assertEqual(404, response.status_int)
        volume = self.volume(made=base.MADE)
        shown = self.ok('GET', f'/volumes/{volume.id}')['volume']
        self.assertEqual([], [k for k in shown if k.startswith('os-rbd')])


_PAGES = tree.ROOT / 'doc/source/contributor'
_OLDER = 'Services and extensions that older releases of Cinder have.'
# The newest major version of Cinder that the lists were compared with.
_NEWEST = 29
# Attachment requests are checked separately.
_PREFIX = re.compile(r'^/(\{project_id(:[^}]*)?\}|:\(?project_id\)?)?/?')
_PARAMETER = re.compile(r':\(?(\w+)\)?')


def _paths(mapper: Any) -> Iterator[tuple[Any, str, str, str]]:
    """Yield the controller, method, path and action of each route."""
    for route in mapper.matchlist:
        controller = route.defaults.get('controller')
        path = route.routepath
        if controller is None or path.endswith('.:(format)'):
            continue
        path = _PARAMETER.sub(r'{\1}', _PREFIX.sub('/', path, count=1))
        for method in (route.conditions or {}).get('method') or ('GET',):
            yield controller, method, path, route.defaults['action']


def _changing(mapper: Any) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each request that may change something, and its extensions.

    The extensions are our modules whose code runs before Cinder's.
    """
    for controller, method, path, action in _paths(mapper):
        if method == 'GET':
            continue
        request = f'{method} {path}'
        if hasattr(controller.controller, action):
            yield request, _ours(controller.wsgi_extensions.get(action))
        elif action == 'action':
            for name in controller.wsgi_actions:
                extensions = controller.wsgi_action_extensions.get(name)
                yield f'{request} {name}', _ours(extensions)
        elif action in controller.wsgi_actions:
            extensions = controller.wsgi_action_extensions.get(action)
            yield request, _ours(extensions)


def _ours(extensions: list[Any] | None) -> frozenset[str]:
    modules = (each.__func__.__module__ for each in extensions or ())
    return frozenset(m for m in modules if m.startswith('cinder_rbd_ext'))


def _rows(name: str) -> list[list[str]]:
    """Return the rows of a table, without its head."""
    with (_PAGES / name).open(newline='') as file:
        rows = list(csv.reader(file))
    return [[cell.strip('`') for cell in row] for row in rows[1:]]


@runs.tags(runs.RELEASES)
class RoutesTest(base.ApiTestCase):
    """Cinder's own router, with the stock extensions and ours."""

    def setUp(self) -> None:
        super().setUp()
        self.found = {
            request: modules
            for request, modules in _changing(self.router.map)
            if definitions.ALIAS not in request
        }
        self.checks = {row[0]: row[1] for row in _rows('routes.csv')}
        self.others = {row[0]: row[1] for row in _rows('other-routes.csv')}

    def test_each_request_is_in_one_table(self) -> None:
        listed = [
            row[0]
            for name in ('routes.csv', 'other-routes.csv')
            for row in _rows(name)
        ]
        self.assertEqual(sorted(set(listed)), sorted(listed))
        self.assertEqual(
            set(), self.found.keys() - set(listed), 'new in Cinder'
        )

    def test_each_row_is_a_route_that_changes_something(self) -> None:
        self.assertEqual(set(), self.checks.keys() - self.found.keys())
        if releases.RELEASE == 0 or releases.RELEASE >= _NEWEST:
            missing = self.others.keys() - self.found.keys()
            older = {
                name for name, why in self.others.items() if why == _OLDER
            }
            self.assertEqual(older, missing)

    def test_checks_are_those_that_run(self) -> None:
        for request, modules in self.found.items():
            check = self.checks.get(request, '')
            named = {check} if '.api.' in check else set()
            self.assertEqual(named, modules, request)

    def test_checks_exist(self) -> None:
        for check in set(self.checks.values()) - {'none'}:
            importlib.import_module(check)

    def test_requests_without_a_check_change_nothing_of_ours(self) -> None:
        for request, check, what, without in _rows('routes.csv'):
            self.assertNotEqual('', what, request)
            self.assertIs(check == 'none', without == 'No change.', request)
