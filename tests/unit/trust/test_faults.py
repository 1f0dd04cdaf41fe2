# SPDX-License-Identifier: Apache-2.0


import pathlib
import random
import socket
import subprocess
from unittest import mock

import ddt
import fixtures

from sandbox_cloud import processes
from sandbox_cloud import state
from sandbox_cloud import supervise
from tests.trust import __main__ as command
from tests.trust import faults
from tests.unit import base

_KINDS = ('kill', 'stop', 'cluster', 'clock')


@ddt.ddt
class DrawnTestCase(base.TestCase):
    def test_qemu_and_libvirt_fail_only_if_servers_use_volumes(self) -> None:
        within = {'qemu', 'libvirtd', 'libvirtd2'}
        for kind in ('kill', 'terminate', 'stop'):
            self.assertFalse(within & {*faults.offered([kind])[kind]})
            offered = faults.offered([kind], within, servers=True)
            self.assertEqual(within, {*offered[kind]})
        usual = faults.offered(['cluster'])
        self.assertEqual(usual, faults.offered(['cluster'], servers=True))

    def test_a_seed_draws_the_same_faults_again(self) -> None:
        targets = faults.offered(_KINDS)
        first, second = (
            [faults.drawn(rng, targets) for _ in range(9)]
            for rng in (random.Random(5), random.Random(5))
        )
        self.assertEqual(first, second)

    def test_the_sample_of_continuous_integration_stays(self) -> None:
        targets = faults.offered(command._KINDS)
        sample = [
            faults.drawn(random.Random(f'{command._SEED} {number}'), targets)
            for number in command._SAMPLE
        ]
        self.assertEqual(
            ['kill ceph-osd', 'monitor down', 'kill cinder-volume'],
            [fault.name for fault in sample],
        )

    @ddt.data(*faults.TARGETS)
    def test_all_faults_of_a_kind_are_drawn(self, kind: str) -> None:
        rng = random.Random(1)
        targets = faults.offered([kind])
        drawn = [faults.drawn(rng, targets) for _ in range(200)]
        self.assertEqual(
            set(faults.TARGETS[kind]), {fault.target for fault in drawn}
        )
        self.assertEqual({kind}, {fault.kind for fault in drawn})
        self.assertTrue(any(fault.delay < 0 for fault in drawn))

    def test_only_the_named_targets_are_drawn(self) -> None:
        targets = faults.offered((*_KINDS, 'cut'), ['full', 'ceph-mon'])
        rng = random.Random(1)
        drawn = [faults.drawn(rng, targets) for _ in range(100)]
        self.assertEqual(
            {
                *('kill ceph-mon', 'stop ceph-mon', 'full'),
                *('clock ceph-mon', 'cut ceph-mon'),
            },
            {fault.name for fault in drawn},
        )

    def test_both_drivers_are_interrupted_between_their_steps(self) -> None:
        rng = random.Random(1)
        targets = faults.offered(['kill'])
        drawn = [faults.drawn(rng, targets) for _ in range(100)]
        self.assertEqual(
            {0, 1}, {fault.side for fault in drawn if fault.changes}
        )


class InjectorTestCase(base.TestCase):
    """A fault ends, also if there is an error in the meantime."""

    def setUp(self) -> None:
        super().setUp()
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        place = state.State(root)
        self.conf = place.run / 'programs' / 'ceph-osd.conf'
        self.text = '[program:ceph-osd]\nenvironment = HOME="/"\n'
        state.write_private(self.conf, self.text)
        self.supervisor = self._replaced(supervise, 'Supervisor').return_value
        programs = {'ceph-osd': {'pid': 7}}
        self.supervisor.processes.return_value = programs
        self.family = self._replaced(processes, 'family')
        self.family.return_value = [7]
        self.ports = self._replaced(processes, 'ports_of')
        self.ports.return_value = [6800, 6801]
        self.names = self._replaced(socket, 'if_nameindex')
        self.names.return_value = [(1, 'lo')]
        self.nft = self._replaced(subprocess, 'run')
        self.injector = faults.Injector(place)

    def _replaced(self, module: object, name: str) -> mock.Mock:
        patch = mock.patch.object(module, name, autospec=True)
        self.addCleanup(patch.stop)
        return patch.start()

    def _interrupted(self, kind: str) -> str:
        """Return the configuration of the OSD during the fault."""
        fault = faults.Fault(kind, 'ceph-osd', 5, 0)
        with self.assertRaises(KeyError), self.injector._lasting(fault):
            during = self.conf.read_text()
            self.supervisor.reset_mock()
            raise KeyError
        return during

    def test_the_clock_is_right_again(self) -> None:
        self.assertIn('FAKETIME="+3600",', self._interrupted('clock'))
        self.assertEqual(self.text, self.conf.read_text())
        self.assertEqual(
            [mock.call.reload(), mock.call.start('ceph-osd')],
            self.supervisor.method_calls,
        )

    def test_a_program_serves_once_it_listens_or_has_child_processes(
        self,
    ) -> None:
        self.ports.return_value = []
        self.family.side_effect = ([7], [7, 8], [7, 8, 9])
        self.assertEqual([7, 8, 9], self.injector._serving('ceph-osd'))
        self.family.side_effect = ([7],)
        self.ports.return_value = [6800]
        self.assertEqual([7], self.injector._serving('ceph-osd'))

    def test_the_network_is_whole_again(self) -> None:
        self._interrupted('cut')
        first, last = (call.kwargs['input'] for call in self.nft.mock_calls)
        self.assertIn('6800 timeout 5s, 6801 timeout 5s', first)
        self.assertEqual('delete table inet trust', last)

    def test_the_network_of_others_is_not_cut(self) -> None:
        self.names.return_value = [(1, 'lo'), (2, 'eth0')]
        with self.assertRaisesRegex(RuntimeError, 'not that of a sandbox'):
            self.injector.inject(faults.Fault('cut', 'ceph-osd', 5, 0))
        self.nft.assert_not_called()
