# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterator
import contextlib
import dataclasses
import itertools
import pathlib
import subprocess
import time
from typing import Any
from unittest import mock

import fixtures

from rbd_volume_options import errors
from rbd_volume_tools.bench import facts
from rbd_volume_tools.bench import fio
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import qemu
from rbd_volume_tools.bench import results
from rbd_volume_tools.bench import session
from rbd_volume_tools.bench import space
from rbd_volume_tools.bench.guest import cloud
from rbd_volume_tools.bench.paths import surroundings
from tests.fakes import fake_images
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import samples
from tests.unit.rbd_volume_tools.bench.guest import fake_cloud

_FIGURES = fio.Figures(10.0, {'bytes_per_second': 1.0})


class SessionTest(base.TestCase):
    """Tests with fake images and mocked programs."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.cluster = fake_rados.Cluster('volumes')
        conf = self.folder / 'ceph.conf'
        conf.write_text('[global]\n')
        client = fake_rados.Rados(self.cluster)
        client.connect()
        self.target = surroundings.Target(
            client,
            fake_librbd.Librbd(self.cluster),
            conf,
            'me',
            'volumes',
            2**30,
        )
        self.gather = self.replace(
            facts,
            'gather',
            side_effect=lambda *args: {
                'pool': {},
                'options': {'a': '60', 'b': '1'},
            },
        )
        load = {'client_load_average': 0.0}
        self.replace(facts, 'observe', return_value=load)
        self.free = self.replace(facts, 'free', return_value=2**40)
        self.fio = self.replace(fio, 'run', return_value={})
        self.figures = self.replace(fio, 'figures', return_value=_FIGURES)
        self.exported = self.replace(qemu, 'exported')
        child = mock.create_autospec(subprocess.Popen, instance=True, pid=1)
        exported = (self.folder / 'socket', child)
        self.exported.return_value.__enter__.return_value = exported
        self.plan = samples.parsed()
        self.place: cloud.Cloud | None = None

    def replace(self, owner: Any, name: str, **kwargs: Any) -> Any:
        patch = mock.patch.object(owner, name, autospec=True, **kwargs)
        self.addCleanup(patch.stop)
        return patch.start()

    def run_plan(self, *words: str) -> results.Results:
        self.said: list[str] = []
        running = self.session = session.Session(
            self.target, self.plan, self.folder, self.said.append, self.place
        )
        selection = matrix.parse_selection(self.plan, words)
        cells = matrix.select(matrix.cells(self.plan), selection)
        self.shown: list[int] = []
        running.run(cells, lambda x, y: self.shown.append(x), 0)
        return running.results

    def test_session_measures_each_cell_and_removes_images(self) -> None:
        self.cluster.pools['volumes'].config['rbd_cache'] = 'false'
        # The options of the measured programs, not of the connection.
        changed = {**vars(self.target), 'options': {'a': '0'}}
        self.target = surroundings.Target(**changed)
        measured = self.run_plan()
        self.assertEqual({'a': '0', 'b': '1'}, measured.environment['options'])
        self.assertEqual(28, len(measured.done()))
        self.assertEqual(
            {'overrides': {'conf_rbd_cache': 'false'}},
            measured.environment['pool'],
        )
        self.assertEqual(list(range(29)), self.shown)
        self.assertEqual([], self.cluster.names())
        self.assertEqual(
            ['before', 'after'], [x['when'] for x in measured.loads]
        )
        # The image of each layout and repetition is filled once.
        fills = [x for x in self.fio.call_args_list if '--rw=write' in x[0][0]]
        fills = [x for x in fills if '--name=fill' in x[0][0]]
        self.assertEqual(4, len(fills))

    def test_failed_measurement(self) -> None:
        failing = processes.EngineError('QEMU aborts')
        self.exported.return_value.__enter__.side_effect = failing
        measured = self.run_plan('path=qemu', 'cache_mode=none')
        self.assertEqual({'QEMU aborts'}, {x.error for x in measured.samples})
        self.assertEqual([], self.cluster.names())

    def test_refused_combination(self) -> None:
        """The others are measured."""
        self.plan = dataclasses.replace(
            self.plan,
            runs=tuple(
                dataclasses.replace(
                    run,
                    # The object map would be too large.
                    axes={**run.axes, 'size': ('1024G', '4000000000G')},
                )
                if run.path == plan.DELETION
                else run
                for run in self.plan.runs
            ),
        )
        measured = self.run_plan('run=deletion', 'features=with')
        self.assertEqual(2, len(measured.done()))
        failed = {x.cell: x.error for x in measured.samples if x.error}
        ((cell, error),) = failed.items()
        self.assertIn('size=4000000000G', cell)
        self.assertIn('image cinder-rbd-ext-bench-', error)
        self.assertIn('size=4000000000G', self.said[0])

    def test_image_that_is_not_closed(self) -> None:
        @contextlib.contextmanager
        def held(own: images.Images, name: str) -> Iterator[None]:
            yield
            raise fake_images.OSError('lost')

        self.replace(images.Images, 'held', side_effect=held)
        words = ('run=disks', 'cache_mode=none', 'workload=small')
        self.assertEqual(4, len(self.run_plan(*words).done()))
        self.assertIn('was not closed', self.said[0])

    def test_interrupted_when_results_are_written(self) -> None:
        """The image is removed before the pool is closed."""
        save = self.replace(results, 'save')
        save.side_effect = [None, KeyboardInterrupt]
        interrupted = None
        try:
            self.run_plan('layout=striped')
        except KeyboardInterrupt as error:
            # The traceback keeps all frames alive.
            interrupted = error
        self.assertIsNotNone(interrupted)
        self.assertEqual([], self.cluster.names())
        self.assertEqual([], self.cluster.ended)

    def test_full_pool(self) -> None:
        """The space is checked before each image, and removals do not wait."""
        self.replace(time, 'sleep')
        self.replace(space, 'SETTLED')
        opened = self.replace(fake_rados.Ioctx, 'set_osdmap_full_try')
        self.free.side_effect = [*[2**40] * 4, *[0] * 1000]
        with mock.patch.object(time, 'monotonic', autospec=True) as clock:
            clock.side_effect = map(float, itertools.count(0, 10))
            measured = self.run_plan('run=disks', 'cache_mode=none')
        self.assertTrue(opened.called)
        self.assertEqual(2, len(measured.done()))
        failed = {x.error for x in measured.samples if x.error}
        self.assertEqual(1, len(failed))
        self.assertIn('0 are free in the pool volumes', failed.pop())

    def test_data_pool_of_the_client(self) -> None:
        self.cluster.add_pool('data')
        ident = self.cluster.pools['data'].number
        prepare = self.replace(images.Images, 'prepare', return_value=ident)
        self.run_plan('run=deletion')
        self.assertTrue(prepare.called)
        self.gather.assert_called_with(mock.ANY, 'volumes', 'data')
        self.free.assert_called_with(mock.ANY, 'data')

    def test_pool_in_which_nothing_can_be_created(self) -> None:
        self.cluster.fail('RBD.create', fake_images.OSError('refused'))
        error = self.assertRaises(errors.OptionError, self.run_plan)
        self.assertRegex(str(error), '--pool.*refused')

    def test_pool_that_is_too_small(self) -> None:
        self.free.return_value = 2**31 - 1
        error = self.assertRaises(errors.OptionError, self.run_plan)
        self.assertIn('--pool', str(error))
        self.assertEqual([], self.cluster.names())

    def use_guest(self) -> fake_cloud.Cloud:
        """Use a fake cloud for the plan's run with disks."""
        self.replace(time, 'sleep')
        self.plan = samples.from_text(samples.GUEST_PLAN)
        self.target = surroundings.Target(
            **{**vars(self.target), 'limit': 2**31}
        )
        fake = fake_cloud.Cloud(self.cluster)
        wanted = cloud.Wanted('fio', 'small')
        self.place = cloud.Cloud(fake, wanted, 'fsid/volumes')
        return fake

    def test_guest_session_removes_servers_and_volumes(self) -> None:
        fake = self.use_guest()
        measured = self.run_plan('run=disks')
        self.assertEqual(24, len(measured.done()))
        self.assertEqual({}, fake.servers)
        self.assertEqual([], self.session.not_removed)
        self.assertEqual([], self.cluster.names())
        modes = {'none', 'writeback', 'unsafe'}
        self.assertEqual(
            modes, set(measured.environment['guest']['disk_cache'])
        )
        # A run without the cloud keeps the facts.
        self.place = None
        again = self.run_plan('run=deletion')
        self.assertEqual('small', again.environment['guest']['flavor'])

    def test_guest_without_server(self) -> None:
        fake = self.use_guest()
        fake.status = 'ERROR'
        measured = self.run_plan()
        reasons = {each.error for each in measured.samples if each.error}
        self.assertEqual(1, len(reasons))
        # The other run is measured.
        self.assertEqual(4, len(measured.done()))
        self.assertEqual([], self.cluster.names())
