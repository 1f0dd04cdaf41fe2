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


"""The cost of requests without our keys, compared with stock Cinder."""

from typing import Any

from cinder.api.v3 import router
import ddt
from oslo_serialization import jsonutils
import sqlalchemy
from sqlalchemy import event

from tests.unit.cinder_rbd_ext.api import base

#: Requests and the number of SQL statements that the extension adds: for the
#: type of a new volume, and for the volume to extend and its type.
_REQUESTS: dict[str, tuple[str, str, Any, int]] = {
    'create': ('POST', '/volumes', {'volume': {'size': 1}}, 2),
    'create_with_a_type': (
        'POST',
        '/volumes',
        {'volume': {'size': 1, 'volume_type': 'rbd', 'metadata': {'a': 'b'}}},
        2,
    ),
    'list': ('GET', '/volumes/detail', None, 0),
    'show': ('GET', '/volumes/{id}', None, 0),
    'rename': ('PUT', '/volumes/{id}', {'volume': {'name': 'other'}}, 0),
    'metadata': (
        'POST',
        '/volumes/{id}/metadata',
        {'metadata': {'a': 'b'}},
        0,
    ),
    'snapshot': (
        'POST',
        '/snapshots',
        {'snapshot': {'volume_id': '{id}', 'metadata': {'a': 'b'}}},
        0,
    ),
    'extend': (
        'POST',
        '/volumes/{id}/action',
        {'os-extend': {'new_size': 2}},
        3,
    ),
}


@ddt.ddt
class CountsTest(base.ApiTestCase):
    def _statements(self, request: tuple[str, str, Any, int]) -> int:
        volume = self.volume()
        method, path, body, _ = request
        text = jsonutils.dumps(body).replace('{id}', volume.id)
        found: list[str] = []

        def sent(_: Any, __: Any, statement: str, *___: Any) -> None:
            if statement != 'BEGIN':
                found.append(statement)

        engine = sqlalchemy.engine.Engine
        event.listen(engine, 'before_cursor_execute', sent)
        try:
            self.ok(
                method,
                path.format(id=volume.id),
                jsonutils.loads(text),
            )
        finally:
            event.remove(engine, 'before_cursor_execute', sent)
        return len(found)

    @ddt.data(*_REQUESTS)
    def test_without_keys(self, case: str) -> None:
        request = _REQUESTS[case]
        # Fill the caches.
        self._statements(request)
        asked = self.get_pools.call_count
        ours = self._statements(request)
        self.assertEqual(asked, self.get_pools.call_count)
        self.override_config('osapi_volume_extension', (base.STOCK,))
        self.router = router.APIRouter()
        self.app = self.make_app('member', 'reader')
        self._statements(request)
        stock = self._statements(request)
        self.assertEqual(stock + request[-1], ours)
