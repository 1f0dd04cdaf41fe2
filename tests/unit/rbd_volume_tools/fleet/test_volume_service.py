# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt
from keystoneauth1 import exceptions as keystone
from osc_lib import exceptions
import requests

from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import volume_service
from tests.unit import base
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_WANTED = ('id-of-new', 'never')
_TYPES = [{'id': '1', 'name': 'old'}, {'id': '2', 'name': '1'}]


class _Storage:
    """Answers each request with the same response, or fails."""

    def __init__(self, answer: requests.Response | Exception) -> None:
        self.answer = answer
        self.requests: list[tuple[str, Any]] = []

    def get(self, path: str, **options: Any) -> requests.Response:
        self.microversion = options.get('microversion')
        return self.post(path, None)

    def post(self, path: str, json: Any) -> requests.Response:
        self.requests.append((path, json))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def _service(answer: Any) -> volume_service.VolumeService:
    return volume_service.VolumeService(_Storage(answer))


@ddt.ddt
class VolumeServiceTest(base.TestCase):
    def test_type_is_found_by_id_or_name(self) -> None:
        """The id of one type is the name of another."""
        service = _service(fake_cloud.response(200, {'volume_types': _TYPES}))
        for name in ('1', 'old'):
            self.assertEqual(
                ('1', 'old'), (service.type_of(name)['id'], 'old')
            )
        error = self.assertRaises(ValueError, service.type_of, 'x')
        self.assertIn('1, old', str(error))

    def test_only_administrators_see_the_pools_of_the_scheduler(self) -> None:
        for status, expected in ((200, True), (500, True), (403, False)):
            service = _service(fake_cloud.response(status))
            self.assertIs(expected, service.is_administrators())

    @ddt.data(
        ([], True),
        ([{'os-vol-host-attr:host': None}], True),
        ([{'id': 'of its project'}], False),
    )
    @ddt.unpack
    def test_others_do_not_see_the_hosts_of_volumes(
        self, volumes: list[dict[str, Any]], expected: bool
    ) -> None:
        service = _service(fake_cloud.response(200, {'volumes': volumes}))
        self.assertIs(expected, service.is_administrators())

    def test_clusters_are_those_of_the_back_ends_that_report_one(self) -> None:
        pools = [
            {'name': str(number), 'capabilities': report}
            for number, report in enumerate(
                (
                    {'location_info': 'ceph:/a.conf:one:cinder:volumes'},
                    {'rbd_location_info': 'ceph:/b.conf:two:cinder:fast'},
                    {'location_info': 'LVMVolumeDriver:h:vg:thin:0'},
                    {},
                )
            )
        ]
        service = _service(fake_cloud.response(200, {'pools': pools}))
        self.assertEqual({'one', 'two'}, service.clusters())
        for status in (403, 500):
            service = _service(fake_cloud.response(status))
            self.assertEqual(frozenset(), service.clusters())

    def test_show_returns_volume_or_none(self) -> None:
        volume = {'id': 'a', 'status': 'retyping', 'volume_type': 'old'}
        storage = _Storage(fake_cloud.response(200, {'volume': volume}))
        service = volume_service.VolumeService(storage)
        self.assertEqual('retyping', getattr(service.show('a'), 'status', ''))
        # With the name of the cluster.
        self.assertEqual('3.61', storage.microversion)
        self.assertIsNone(_service(fake_cloud.response(404)).show('a'))
        service = _service(fake_cloud.fault(403, 'not allowed'))
        self.assertRaises(exceptions.CommandError, service.show, 'a')

    def test_retype_returns_warning(self) -> None:
        answer = fake_cloud.response(202)
        answer.headers['Warning'] = '299 - "removes keys"'
        storage = _Storage(answer)
        service = volume_service.VolumeService(storage)
        self.assertEqual('removes keys', service.retype('a', *_WANTED))
        action = {'new_type': 'id-of-new', 'migration_policy': 'never'}
        self.assertEqual(
            [('/volumes/a/action', {'os-retype': action})], storage.requests
        )

    @ddt.data(400, 413, 500)
    def test_refused_retype_raises_its_reason(self, status: int) -> None:
        service = _service(fake_cloud.fault(status, 'detach it'))
        error = self.assertRaises(
            outcomes.Refused, service.retype, 'a', *_WANTED
        )
        self.assertIn('detach it', str(error))

    @ddt.data(
        fake_cloud.response(503),
        fake_cloud.response(429),
        keystone.ConnectTimeout('too slow'),
        keystone.ServiceUnavailable('Keystone'),
    )
    def test_unavailable_service_can_be_retried(self, answer: Any) -> None:
        service = _service(answer)
        self.assertRaises(outcomes.NotAnswered, service.show, 'a')
        self.assertRaises(outcomes.NotAnswered, service.retype, 'a', *_WANTED)
