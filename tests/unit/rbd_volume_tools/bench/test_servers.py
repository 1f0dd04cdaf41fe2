# SPDX-License-Identifier: Apache-2.0

import base64
import collections
from collections.abc import Collection
import contextlib
import csv
import dataclasses
import gzip
import json
import pathlib
import time
import types
from typing import Any

import ddt
import fixtures

from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import servers
from rbd_volume_tools.bench import servers_report
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base

_FIO = {
    'jobs': [{side: {'bw_bytes': 5e6} for side in ('read', 'write')}],
}
REPETITION = '\n'.join(
    (
        'repetition 0',
        'began 1700000000',
        *(f'hdparm_{x} 100.5' for x in ('cached', 'buffered', 'direct')),
        *(f'fio_{x} {json.dumps(_FIO)}' for x in ('random', 'sequential')),
        *(f'dd_{x}_{y} 64 2.0' for x in ('small', 'large')
          for y in ('write', 'read')),
    )
)  # fmt: skip
SETTINGS = servers.Settings(
    volume_type=None,
    cache_modes=('none', 'writeback'),
    striped='striped',
    beside='lvm',
    access=('buffered', 'direct'),
    sizes=(1, 2, 3),
    repetitions=1,
    runtime=30,
    workers=25,
    file_size=8,
    dd_small=64,
    dd_large=256,
)


class Place:
    """A cloud with the methods that are needed, and a guest that answers.

    :ivar answer: the text of the results
    """

    def __init__(self) -> None:
        self.answer = REPETITION
        self.consoles: dict[str, str] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.jobs: list[dict[str, str]] = []
        self.names: list[str] = []

    def check(self) -> None:
        pass

    def left(self) -> Collection[str]:
        return ()

    def boot(self, name: str, program: bytes) -> dict[str, Any]:
        self.names.append(name)
        ident = f's{len(self.consoles)}'
        self.consoles[ident] = 'cinder-rbd-ext-bench: ready\n'
        return {'id': ident}

    def console(self, ident: str) -> str:
        return self.consoles[ident]

    def create_volume(
        self,
        name: str,
        gib: int,
        metadata: dict[str, str],
        volume_type: str | None = None,
    ) -> str:
        ident = f'{len(self.volumes)}-{name}'
        self.volumes[ident] = {
            'gib': gib, 'metadata': metadata, 'type': volume_type,
            'exists': True,
        }  # fmt: skip
        return ident

    def attach(self, server: str, volume: str) -> None:
        self.volumes[volume]['server'] = server

    def detach(self, server: str, volume: str) -> None:
        self.volumes[volume]['server'] = None

    def remove_volumes(self, name: str, kept: Collection[str] = ()) -> None:
        for ident, volume in self.volumes.items():
            if ident not in kept:
                volume['exists'] = False

    def remove(self, name: str) -> None:
        self.consoles.clear()
        self.remove_volumes(name)

    def write(self, volume: str, content: bytes) -> None:
        first, *lines = content.rstrip(b'\0').decode().splitlines() or ['']
        if not first:
            return
        options = dict(line.split('=', 1) for line in lines if '=' in line)
        self.jobs.append({**options, 'server': self.volumes[volume]['server']})
        start = f'cinder-rbd-ext-bench: {first.split()[1]}'
        packed = base64.b64encode(gzip.compress(self.answer.encode() + b'\n'))
        self.consoles[self.volumes[volume]['server']] += (
            f'{start} = {packed.decode()}\n{start} end\n'
        )


@ddt.ddt
class ServersTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.place = Place()
        self.servers = servers.Servers(
            self.place,  # type: ignore[arg-type]
            'cinder-rbd-ext-bench-1',
            SETTINGS,
            self.place.write,
        )

    def measure(self, mode: str = 'writeback') -> list[servers.Measurement]:
        self.servers.boot()
        variant = servers.Variant('rbd', mode)
        return list(self.servers.measure(variant))

    def test_each_disk_is_measured_alone_and_together(self) -> None:
        measured = self.measure()
        self.assertEqual(
            {
                (access, scenario): 3
                for access in ('buffered', 'direct')
                for scenario in ('alone', 'together')
            },
            collections.Counter((x.access, x.scenario) for x in measured),
        )
        self.assertEqual([1, 2, 3], [x.size for x in measured[:3]])
        self.assertEqual({'rbd, writeback'}, {x.variant for x in measured})
        # Those of the control volumes and of the disks.
        self.assertEqual(
            [1, 1, 1, 1, 2, 3], [x['gib'] for x in self.place.volumes.values()]
        )

    def test_disks_are_formatted_once(self) -> None:
        self.measure()
        self.assertEqual(
            ['1', '1', '1', *['0'] * 9], [x['format'] for x in self.place.jobs]
        )

    def test_disks_that_are_measured_together_begin_together(self) -> None:
        before = int(time.time())
        self.measure()
        together = self.place.jobs[3:6]
        self.assertEqual(1, len({x['start'] for x in together}))
        self.assertGreater(int(together[0]['start']), before + 10)
        self.assertEqual(3, len({x['server'] for x in together}))

    def test_disk_of_another_back_end_has_no_key(self) -> None:
        self.measure(mode='')
        *_, disk = self.place.volumes.values()
        self.assertEqual({}, disk['metadata'])

    @ddt.data(
        REPETITION.replace('fio_random', 'fio'),
        REPETITION.replace('100.5', 'many'),
        REPETITION.replace('hdparm_direct 100.5', ''),
        '{}',
    )
    def test_incomplete_results_are_an_error(self, answer: str) -> None:
        self.place.answer = answer
        self.assertRaises(processes.EngineError, self.measure)
        disks = list(self.place.volumes.values())[3:]
        self.assertFalse(any(x['exists'] for x in disks))

    def test_figures_are_megabytes_per_second(self) -> None:
        figures = servers.figures(REPETITION)
        self.assertEqual(servers.NAMES, tuple(figures))
        self.assertEqual([100.5], figures['hdparm_direct'])
        self.assertEqual([5.0], figures['fio_random_write'])
        self.assertAlmostEqual(33.554432, figures['dd_small_read'][0])


class RunTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.cluster = fake_rados.Cluster('volumes')
        client = fake_rados.Rados(self.cluster)
        client.connect()
        self.client = client
        self.librbd: Any = fake_librbd.Librbd(self.cluster)
        self.place: Any = Place()
        self.settings = dataclasses.replace(
            SETTINGS, access=('buffered',), striped=None
        )

    def run_servers(self) -> dict[str, str]:
        opened = self.librbd.Image

        def image(ioctx: Any, name: str, **kwargs: Any) -> Any:
            if not name.startswith('volume-'):
                return opened(ioctx, name, **kwargs)
            volume = name.removeprefix('volume-')
            disk = types.SimpleNamespace(
                write=lambda content, at: self.place.write(volume, content)
            )
            return contextlib.nullcontext(disk)

        self.librbd.Image = image
        with images.opened(
            *(self.client, self.librbd, 'volumes', servers.MARK),
            *(self.folder, lambda line: None),
        ) as own:
            for measured in servers.run(
                own, self.place, self.settings, self.folder
            ):
                paths = servers_report.write(
                    self.folder, measured, self.settings
                )
        return {path.name: path.read_text() for path in paths}

    def test_run_leaves_a_report_and_nothing_else(self) -> None:
        written = self.run_servers()
        rows = list(csv.DictReader(written['published.csv'].splitlines()))
        by_statement = {x['Statement']: x for x in rows}
        row = by_statement['direct reads: Ceph "eight times"']
        self.assertEqual(('8', '1'), (row['Published'], row['Measured']))
        row = by_statement['writethrough: "little performance gain"']
        self.assertEqual('-', row['Measured'])
        figures = list(csv.DictReader(written['servers.csv'].splitlines()))
        self.assertEqual(3 * 2 * len(servers.NAMES), len(figures))
        self.assertEqual(
            ['buffered, alone', 'hdparm_cached', 'default type, none', '1'],
            list(figures[0].values())[:4],
        )
        self.assertIn('| repetitions | 1 |', written['servers.md'])
        self.assertTrue((self.folder / 'servers.svg').exists())
        self.assertEqual([], self.cluster.names())
        self.assertEqual({}, self.place.consoles)
        self.assertFalse(any(x['exists'] for x in self.place.volumes.values()))
        self.assertEqual(1, len(set(self.place.names)))

    def test_failed_job_leaves_nothing(self) -> None:
        self.place.answer = '{}'
        self.assertRaises(processes.EngineError, self.run_servers)
        self.assertEqual([], self.cluster.names())
        self.assertEqual({}, self.place.consoles)

    def test_variants_are_named_by_type_and_mode(self) -> None:
        settings = dataclasses.replace(
            SETTINGS, volume_type='rbd', striped=None
        )
        self.assertEqual(
            {
                'none': 'rbd, none',
                'writeback': 'rbd, writeback',
                'beside': 'lvm',
            },
            {name: x.label for name, x in settings.variants.items()},
        )
