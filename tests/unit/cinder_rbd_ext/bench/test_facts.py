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


"""Unit tests of cinder_rbd_ext.bench.facts."""

import json
import socket
from typing import Any

import ddt

from cinder_rbd_ext.bench import facts
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
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
    'osd dump': {'pools': [{'pool_name': 'p', 'size': 3, 'pg_num': 32}]},
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
    def test_gather(self) -> None:
        found = facts.gather(_Cluster(), 'p')
        self.assertEqual(2, found['osds'])
        self.assertFalse(found['client_is_osd_host'])
        self.assertEqual(
            {'public': 'network', 'cluster': 'separate'}, found['networks']
        )
        self.assertEqual({'ssd': 2}, found['devices'])
        self.assertEqual(3, found['pool']['replicas'])
        # A report must not contain addresses or host names.
        text = json.dumps(found)
        for secret in ('192.0.2', '198.51', 'one', socket.gethostname()):
            self.assertNotIn(f'"{secret}', text)

    def test_overrides(self) -> None:
        cluster = fake_rados.Cluster('volumes')
        client = fake_rados.Rados(cluster)
        client.connect()
        librbd = fake_librbd.Librbd(cluster)
        ioctx = client.open_ioctx('volumes')
        self.assertEqual({}, facts.overrides(librbd, ioctx))
        cluster.pools['volumes'].config['rbd_cache'] = 'false'
        self.assertEqual(
            {'conf_rbd_cache': 'false'}, facts.overrides(librbd, ioctx)
        )

    def test_flat(self) -> None:
        self.assertEqual(
            {'a.b': '1', 'c': 'x, y'},
            facts.flat({'a': {'b': 1}, 'c': ['x', 'y']}),
        )

    def test_refused_command(self) -> None:
        error = self.assertRaises(
            facts.Unavailable, facts.command, _Cluster(), 'osd tree'
        )
        self.assertIn('ceph osd tree: command not known', str(error))

    def test_free(self) -> None:
        self.assertEqual(7, facts.free(_Cluster(), 'p'))
        self.assertEqual(0, facts.free(_Cluster(), 'none-such'))

    def test_load(self) -> None:
        before = facts.Counters({'p': (0, 0), 'q': (10, 100)}, 0.0)
        after = facts.counters(_Cluster())
        after = facts.Counters(after.pools, 5.0)
        self.assertEqual(
            {'operations_per_second': 1.0, 'bytes_per_second': 40.0},
            facts.load(before, after, 'p'),
        )

    def test_observe(self) -> None:
        found = facts.observe(_Cluster(), 0)
        self.assertEqual(0.0, found['operations_per_second'])
        self.assertIn('client_load_average', found)
