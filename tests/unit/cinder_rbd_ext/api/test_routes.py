#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Unit tests of cinder_rbd_ext.api.routes."""

from collections.abc import Iterator
import importlib
import re
from typing import Any

from cinder_rbd_ext import releases
from cinder_rbd_ext.api import other_routes
from cinder_rbd_ext.api import routes
from rbd_volume_options import wire
from tests import tree
from tests.unit.cinder_rbd_ext.api import base

_PAGE = tree.ROOT / 'doc/source/contributor/routes.rst'
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
                found = controller.wsgi_action_extensions.get(name)
                yield f'{request} {name}', _ours(found)
        elif action in controller.wsgi_actions:
            found = controller.wsgi_action_extensions.get(action)
            yield request, _ours(found)


def _ours(found: list[Any] | None) -> frozenset[str]:
    modules = (each.__func__.__module__ for each in found or ())
    return frozenset(m for m in modules if m.startswith('cinder_rbd_ext'))


class RoutesTest(base.ApiTestCase):
    """Cinder's own router, with the stock extensions and ours."""

    def setUp(self) -> None:
        super().setUp()
        self.found = {
            request: modules
            for request, modules in _changing(self.router.map)
            if wire.ALIAS not in request
        }
        self.table = {route.request: route for route in routes.ROUTES}
        self.others = {
            each
            for requests in other_routes.OTHERS.values()
            for each in requests
        }

    def test_each_request_is_in_one_list(self) -> None:
        self.assertEqual(len(routes.ROUTES), len(self.table))
        self.assertEqual(set(), self.others & self.table.keys())
        unknown = self.found.keys() - self.table.keys() - self.others
        self.assertEqual(set(), unknown, 'new in Cinder')

    def test_each_entry_is_there(self) -> None:
        there = {
            route.request
            for route in routes.ROUTES
            if releases.RELEASE == 0 or route.since <= releases.RELEASE
        }
        self.assertEqual(set(), there - self.found.keys())
        if releases.RELEASE == 0 or releases.RELEASE >= _NEWEST:
            missing = self.others - self.found.keys()
            self.assertEqual(other_routes.OLDER, missing)

    def test_checks_are_those_that_run(self) -> None:
        for request, modules in self.found.items():
            route = self.table.get(request)
            check = route.check if route else None
            named = {check} if check and '.api.' in check else set()
            self.assertEqual(named, modules, request)

    def test_checks_exist(self) -> None:
        for route in routes.ROUTES:
            if route.check:
                importlib.import_module(route.check)

    def test_each_check_says_what_happens_without_the_extension(self) -> None:
        for route in routes.ROUTES:
            in_api = '.api.' in (route.check or '')
            self.assertEqual(in_api, bool(route.past), route.request)
            self.assertIn(route.without_extension, routes.table())

    def test_every_route_is_documented(self) -> None:
        table = routes.table()
        for request in (*self.table, *self.others):
            self.assertIn(f'``{request}``', table)
        self.assertIn(routes.PLACE, _PAGE.read_text())
