# SPDX-License-Identifier: Apache-2.0


import json
import pathlib
from typing import Any

import fixtures

from sandbox_cloud import state
from tests.trust import cluster
from tests.unit import base

_CONF = '[global]\nmon host = [v2:127.0.0.1:3300,v1:127.0.0.1:6789]\n'
_PROGRAM = '[program:ceph-mon]\ncommand = ceph-mon --foreground -i a\n'
_RATIOS = {'nearfull': 0.85, 'backfillfull': 0.9, 'full': 0.95}


class _Supervisor:
    """Knows which programs run."""

    def __init__(self, programs: pathlib.Path) -> None:
        self._programs = programs
        self.running = {'ceph-mon'}
        self.known = {'ceph-mon'}

    def reload(self) -> None:
        self.known = {path.stem for path in self._programs.iterdir()}
        self.running &= self.known

    def start(self, name: str) -> None:
        if name not in self.known:
            raise AssertionError(f'{name} is unknown')
        self.running.add(name)

    def stop(self, name: str) -> None:
        self.running.discard(name)

    def processes(self) -> dict[str, dict[str, str]]:
        return {
            name: {
                'statename': 'RUNNING' if name in self.running else 'STOPPED'
            }
            for name in self.known
        }


class _Cluster(cluster.Cluster):
    """Keeps the state that these commands of Ceph change."""

    def __init__(self, place: state.State, supervisor: Any) -> None:
        super().__init__(place, supervisor)
        self.ratios = dict(_RATIOS)
        self.monitors = {'a'}
        self.hosts: list[str] = []
        self.laggy: list[str] = []

    def _run(self, program: str, *words: str, text: str = '') -> str:
        words = words[2:] if words[0] == '--id' else words
        if words[0] == 'osd' and words[1].startswith('set-'):
            self.ratios[words[1].split('-')[1]] = float(words[2])
        if words[:2] == ('osd', 'down'):
            self.laggy = []
        if words[:2] == ('mon', 'remove'):
            self.monitors.remove(words[2])
            # Whoever connects now needs the other one.
            self.hosts.append(self._conf.read_text())
        if words[0] == '--mkfs':
            self.monitors.add(words[2])
        full = 'full' if self.ratios['full'] < 0.01 else 'hashpspool'
        ratios = {f'{name}_ratio': r for name, r in self.ratios.items()}
        return json.dumps(
            {
                **ratios,
                'pools': [{'flags_names': f'selfmanaged_snaps,{full}'}],
                'quorum': list(self.monitors),
                'pg_stats': self.laggy,
            }
        )


class ClusterTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        place = state.State(root)
        self.conf = place.run / 'ceph/etc/ceph.conf'
        self.programs = place.run / 'programs'
        state.write_private(self.conf, _CONF)
        state.write_private(self.programs / 'ceph-mon.conf', _PROGRAM)
        self.supervisor = _Supervisor(self.programs)
        self.cluster = _Cluster(place, self.supervisor)

    def test_a_full_cluster_has_its_ratios_again_after_an_error(self) -> None:
        with self.assertRaises(KeyError), self.cluster.full():
            self.assertTrue(self.cluster._is_full())
            self.assertEqual(1, len({*self.cluster.ratios.values()}))
            raise KeyError
        self.assertEqual(_RATIOS, self.cluster.ratios)

    def test_another_monitor_serves_alone_under_its_own_address(self) -> None:
        with self.cluster.replaced():
            self.assertEqual({'b'}, self.cluster.monitors)
            self.assertEqual({'ceph-mon-b'}, self.supervisor.running)
            program = self.programs / 'ceph-mon-b.conf'
            self.assertEqual(
                '[program:ceph-mon-b]\ncommand = ceph-mon --foreground -i b\n',
                program.read_text(),
            )
            self.assertNotIn(':3300', self.conf.read_text())
        first, second = self.cluster.hosts
        self.assertNotIn(':3300', first)
        self.assertEqual(_CONF, second)

    def test_the_usual_monitor_serves_again_after_an_error(self) -> None:
        with self.assertRaises(KeyError), self.cluster.replaced():
            raise KeyError
        self.assertEqual({'a'}, self.cluster.monitors)
        self.assertEqual({'ceph-mon'}, self.supervisor.running)
        self.assertEqual({'ceph-mon'}, self.supervisor.known)
        self.assertEqual(_CONF, self.conf.read_text())

    def test_only_groups_that_stay_laggy_are_peered(self) -> None:
        self.assertFalse(self.cluster.peer())
        self.useFixture(fixtures.MockPatchObject(cluster, '_LEASE', 0))
        self.cluster.laggy = ['3.c']
        self.assertTrue(self.cluster.peer())
        self.assertEqual([], self.cluster.laggy)
