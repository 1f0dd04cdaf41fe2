# SPDX-License-Identifier: Apache-2.0

"""The cost of requests without our keys, compared with stock Cinder."""

import dataclasses
from typing import Any

from cinder.api.v3 import router
from cinder.image import glance
from cinder.volume import api as volume_api
from cinder.volume import rpcapi
import ddt
from oslo_serialization import jsonutils
import sqlalchemy
from sqlalchemy import event

from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import sizes
from tests import option_values
from tests.unit.cinder_rbd_ext.api import base

_IMAGE = 'aaaaaaaa-0000-4000-8000-000000000000'
_SERVER = '11111111-2222-4333-8444-555555555555'
_CONNECTOR = {
    'host': 'compute',
    'ip': '192.0.2.1',
    'rbd_host': {'modes': ['none']},
}

_Request = tuple[str, str, Any, int]


def _create(added: int, **values: Any) -> _Request:
    return 'POST', '/volumes', {'volume': values}, added


def _action(added: int, name: str, **values: Any) -> _Request:
    return 'POST', '/volumes/{id}/action', {name: values}, added


def _attach(added: int, **values: Any) -> _Request:
    body = {'volume_uuid': '{id}', 'instance_uuid': _SERVER, **values}
    return 'POST', '/attachments', {'attachment': body}, added


#: Requests and the number of SQL statements that the extension adds: for a
#: snapshot and the record of its volume, for the volume to extend and its
#: type, and for the keys of a volume to attach. Cinder reads an attachment
#: with two statements.
_REQUESTS: dict[str, _Request] = {
    'create': _create(0, size=1),
    'create_with_a_type': _create(
        0, size=1, volume_type='rbd', metadata={'a': 'b'}
    ),
    'create_with_a_type_that_has_keys': _create(
        0, size=1, volume_type='striped'
    ),
    'create_from_an_image': _create(0, size=1, imageRef=_IMAGE),
    'create_from_an_image_with_a_type': _create(
        0, size=1, imageRef=_IMAGE, volume_type='striped'
    ),
    'create_from_a_volume': _create(
        0, size=1, source_volid='{id}', volume_type='rbd'
    ),
    'create_from_a_snapshot': _create(
        1, snapshot_id='{snapshot}', volume_type='rbd'
    ),
    'create_from_a_snapshot_with_a_type_that_has_keys': _create(
        2, snapshot_id='{snapshot}', volume_type='striped'
    ),
    'create_from_a_snapshot_whose_type_may_refuse': _create(
        2, snapshot_id='{snapshot}'
    ),
    'list': ('GET', '/volumes/detail', None, 0),
    'show': ('GET', '/volumes/{id}', None, 0),
    'rename': ('PUT', '/volumes/{id}', {'volume': {'name': 'other'}}, 0),
    'metadata': (
        *('POST', '/volumes/{id}/metadata', {'metadata': {'a': 'b'}}),
        0,
    ),
    'snapshot': (
        *('POST', '/snapshots'),
        {'snapshot': {'volume_id': '{id}', 'metadata': {'a': 'b'}}},
        0,
    ),
    'extend': _action(2, 'os-extend', new_size=2),
    'reserve': _attach(1),
    'attach': _attach(1, connector=_CONNECTOR),
    'update_an_attachment': (
        *('PUT', '/attachments/{attachment}'),
        {'attachment': {'connector': _CONNECTOR}},
        4,
    ),
    'initialize_connection': _action(
        1, 'os-initialize_connection', connector=_CONNECTOR
    ),
}


#: The same for volumes with a record, and requests with keys: for the type of
#: a new volume and its extra specs, for the volume and its row, and three to
#: record an accepted value.
_WITH_KEYS: dict[str, _Request] = {
    'create': _create(2, size=1, metadata={'rbd:object_size': '4M'}),
    'set_a_key': (
        *('POST', '/volumes/{id}/metadata'),
        {'metadata': {'rbd:cache_mode': 'none'}},
        5,
    ),
    'remove_a_key': ('DELETE', '/volumes/{id}/metadata/rbd:x', None, 1),
    'extend': _action(2, 'os-extend', new_size=2),
    'set_bootable': _action(2, 'os-set_bootable', bootable=True),
    'retype': _action(4, 'os-retype', new_type='both'),
    'show': ('GET', '/volumes/{id}', None, 0),
    'list': ('GET', '/volumes/detail', None, 0),
    'attach': _attach(1, connector=_CONNECTOR),
    'delete_a_snapshot': ('DELETE', '/snapshots/{snapshot}', None, 1),
}


@dataclasses.dataclass
class _Counts:
    """The cost of a request.

    :ivar statements: SQL statements
    :ivar images: requests to Glance for an image
    """

    statements: int = 0
    images: int = 0


@ddt.ddt
class CountsTest(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        image = {
            'id': _IMAGE,
            'name': 'linux',
            'status': 'active',
            'size': 1,
            'min_disk': 0,
            'properties': {},
        }
        self.show_image = self.mock_object(
            glance.GlanceImageService,
            'show',
            autospec=True,
            return_value=image,
        )
        for name in ('attachment_update', 'initialize_connection'):
            self.mock_object(
                rpcapi.VolumeAPI,
                name,
                autospec=True,
                return_value={'driver_volume_type': 'rbd', 'data': {}},
            )

    def _reserved(self) -> str:
        """Reserve another volume."""
        volume = self.volume()
        attachment = self.add_attachment(
            volume.id, 'reserved', instance_uuid=_SERVER
        )
        volume.status = 'reserved'
        volume.save()
        return str(attachment.id)

    def _cost(self, request: _Request, *made: Any) -> _Counts:
        method, path, body, _ = request
        volume = self.volume(*made)
        attachment = self._reserved() if '{attachment}' in path else None
        text = jsonutils.dumps(body).replace('{id}', volume.id)
        snapshot = ''
        if '{snapshot}' in f'{path}{text}':
            snapshot = self.snapshot(volume)
            text = text.replace('{snapshot}', snapshot)
        cost = _Counts()
        images = self.show_image.call_count

        def sent(_: Any, __: Any, statement: str, *___: Any) -> None:
            if statement != 'BEGIN':
                cost.statements += 1

        engine = sqlalchemy.engine.Engine
        event.listen(engine, 'before_cursor_execute', sent)
        try:
            self.ok(
                method,
                path.format(
                    id=volume.id, attachment=attachment, snapshot=snapshot
                ),
                jsonutils.loads(text),
            )
        finally:
            event.remove(engine, 'before_cursor_execute', sent)
        cost.images = self.show_image.call_count - images
        return cost

    def _stock_cost(self, request: _Request, *made: Any) -> _Counts:
        self.override_config('osapi_volume_extension', (base.STOCK,))
        self.router = router.APIRouter()
        self.app = self.make_app('member', 'reader')
        self._cost(request, *made)
        return self._cost(request, *made)

    @ddt.data(*_REQUESTS)
    def test_without_keys(self, case: str) -> None:
        request = _REQUESTS[case]
        # Fill the caches.
        self._cost(request)
        calls = self.get_pools.call_count
        ours = self._cost(request)
        self.assertEqual(calls, self.get_pools.call_count)
        stock = self._stock_cost(request)
        self.assertEqual(stock.statements + request[-1], ours.statements)
        # Whether the image has data.
        looks = 'imageRef' in str(request)
        self.assertEqual(stock.images + looks, ours.images)

    @ddt.data(*_WITH_KEYS)
    def test_with_keys(self, case: str) -> None:
        for name in ('retype', 'delete_snapshot'):
            self.mock_object(volume_api.API, name, autospec=True)
        request = _WITH_KEYS[case]
        volume = {'rbd:x': '1'}, base.MADE
        self._cost(request, *volume)
        ours = self._cost(request, *volume)
        stock = self._stock_cost(request, *volume)
        self.assertEqual(stock.statements + request[-1], ours.statements)

    def test_back_end_that_sets_a_layout(self) -> None:
        """A size that it accepts requires no look-up either."""
        striped = base.settings(
            option_values.level(
                errors.Origin.BACKEND, striping=layout.Striping(base.MIB, 4)
            )
        )
        self.get_pools.return_value = [base.pool('rbd', striped)]
        request = _REQUESTS['create_from_an_image']
        self._cost(request)
        ours = self._cost(request)
        stock = self._stock_cost(request)
        self.assertEqual(stock.statements, ours.statements)

    def test_keys_are_parsed_once(self) -> None:
        """Also for several back ends."""
        one = base.pool('rbd', base.settings())
        self.get_pools.return_value = [
            {**one, 'name': f'host{n}@rbd#rbd'} for n in range(3)
        ]
        options._parsed.cache_clear()
        parsed = self.mock_object(
            sizes,
            'parse_size',
            autospec=True,
            side_effect=sizes.parse_size,
        )
        self.ok('POST', '/volumes', self.create({'rbd:object_size': '512K'}))
        texts = [call.args[1] for call in parsed.call_args_list]
        self.assertEqual(1, texts.count('512K'))
