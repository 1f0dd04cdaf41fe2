# SPDX-License-Identifier: Apache-2.0

import json
import socket
from typing import Any
from unittest import mock

import ddt

from rbd_volume_tools.bench import facts
from tests.unit import base

_ANSWERS: dict[str, Any] = {
    'osd metadata': [
        {
            'hostname': name,
            'front_addr': f'[v2:192.0.2.{place}:6800/1,v1:192.0.2.1:6801/1]',
            'back_addr': f'[v2:198.51.100.{place}:6800/1]',
            'bluestore_bdev_type': 'ssd',
            'osd_objectstore': 'bluestore',
        }
        for place, name in enumerate(('one', 'two'))
    ],
    'status': {
        'health': {'status': 'HEALTH_OK'},
        'osdmap': {'num_in_osds': 2, 'num_up_osds': 2},
    },
    'versions': {'overall': {'ceph version 16': 5}},
    'osd dump': {
        'pools': [
            {'pool_name': 'p', 'size': 3, 'pg_num': 32, 'crush_rule': 0},
            {'pool_name': 'data', 'size': 2, 'pg_num': 64, 'crush_rule': 1},
        ],
        'osds': [
            {'osd': 0, 'in': 1},
            {'osd': 1, 'in': 1},
            {'osd': 2, 'in': 0},
        ],
    },
    'df': {
        'pools': [
            {
                'name': name,
                'stats': {
                    'rd': 5,
                    'wr': 10,
                    'rd_bytes': 100,
                    'wr_bytes': 200,
                    'max_avail': 7,
                },
            }
            for name in ('p', 'q')
        ]
    },
}


class _Cluster:
    def mon_command(self, text: str, data: bytes) -> tuple[int, bytes, str]:
        prefix = json.loads(text)['prefix']
        if prefix not in _ANSWERS:
            return -22, b'', 'command not known'
        return 0, json.dumps(_ANSWERS[prefix]).encode(), ''

    def conf_get(self, name: str) -> str:
        return 'writearound'

    def version(self) -> str:
        return '3.0.0'


@ddt.ddt
class FactsTest(base.TestCase):
    def test_facts_describe_osds_and_devices(self) -> None:
        gathered = facts.gather(_Cluster(), 'p')
        self.assertEqual(2, gathered['osds'])
        self.assertFalse(gathered['client_is_osd_host'])
        self.assertEqual({'ssd': 2}, gathered['devices'])
        self.assertEqual(3, gathered['pool']['replicas'])
        # A report must not contain addresses or host names.
        text = json.dumps(gathered)
        for secret in ('192.0.2', '198.51', 'one', socket.gethostname()):
            self.assertNotIn(f'"{secret}', text)

    def test_facts_of_the_data_pool(self) -> None:
        gathered = facts.gather(_Cluster(), 'p', 'data')
        self.assertEqual(2, gathered['pool']['data_pool']['replicas'])

    def test_refused_command(self) -> None:
        error = self.assertRaises(
            facts.Unavailable, facts.command, _Cluster(), 'osd tree'
        )
        self.assertIn('ceph osd tree: command not known', str(error))

    def test_free_space_of_unknown_pool_is_zero(self) -> None:
        self.assertEqual(7, facts.free(_Cluster(), 'p'))
        self.assertEqual(0, facts.free(_Cluster(), 'none-such'))

    @ddt.data(
        ({'quota_bytes': 5, 'stored': 2}, 3),
        ({'quota_bytes': 5, 'stored': 6}, 0),
        ({'quota_bytes': 100, 'stored': 2}, 7),
        ({'quota_objects': 5, 'objects': 4}, 7),
        ({'quota_objects': 5, 'objects': 5}, 0),
        ({'quota_bytes': 0, 'stored': 6, 'quota_objects': 0}, 7),
    )
    @ddt.unpack
    def test_free_with_quota(self, quota: Any, expected: int) -> None:
        stats = {'max_avail': 7, **quota}
        with mock.patch.dict(
            _ANSWERS, {'df': {'pools': [{'name': 'p', 'stats': stats}]}}
        ):
            self.assertEqual(expected, facts.free(_Cluster(), 'p'))

    def test_observed_load_includes_the_client(self) -> None:
        load = facts.observe(_Cluster(), 0.01)
        self.assertEqual(0.0, load['operations_per_second'])
        self.assertIn('client_load_average', load)
