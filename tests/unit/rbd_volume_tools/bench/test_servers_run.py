# SPDX-License-Identifier: Apache-2.0

import contextlib
import csv
import pathlib
import types
from typing import Any

import fixtures

from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import servers_report
from rbd_volume_tools.bench import servers_run
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import test_servers


class RunTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.cluster = fake_rados.Cluster('volumes')
        client = fake_rados.Rados(self.cluster)
        client.connect()
        self.place = test_servers.Place()
        self.target = servers_run.Target(
            client,
            fake_librbd.Librbd(self.cluster),
            'volumes',
            self.place,  # type: ignore[arg-type]
        )
        self.chosen = servers_run.Chosen(
            None, ('none', 'writeback'), 'striped', 'lvm', ('buffered',)
        )

    def run_servers(self) -> dict[str, str]:
        librbd = self.target.librbd
        opened = librbd.Image

        def image(ioctx: Any, name: str, **kwargs: Any) -> Any:
            if not name.startswith('volume-'):
                return opened(ioctx, name, **kwargs)
            volume = name.removeprefix('volume-')
            disk = types.SimpleNamespace(
                write=lambda content, at: self.place.write(volume, content)
            )
            return contextlib.nullcontext(disk)

        librbd.Image = image
        paths = servers_run.run(
            self.target, test_servers.SETTINGS, self.chosen, self.folder
        )
        return {path.name: path.read_text() for path in paths}

    def test_report_has_published_statements_beside_ratios(self) -> None:
        written = self.run_servers()
        rows = list(csv.DictReader(written['published.csv'].splitlines()))
        by_statement = {x['Statement']: x for x in rows}
        row = by_statement['direct reads: Ceph "eight times"']
        self.assertEqual(('8', '1'), (row['Published'], row['Measured']))
        row = by_statement['writethrough: "little performance gain"']
        self.assertEqual('-', row['Measured'])
        figures = list(csv.DictReader(written['servers.csv'].splitlines()))
        self.assertEqual(4 * 6, len(figures))
        self.assertEqual('5 ± 0', figures[0]['fio_random_read'])
        self.assertIn('| repetitions | 1 |', written['servers.md'])
        self.assertTrue((self.folder / 'servers.svg').exists())

    def test_run_leaves_nothing(self) -> None:
        self.run_servers()
        self.assertEqual([], self.cluster.names())
        self.assertEqual({}, self.place.consoles)
        self.assertFalse(any(x['exists'] for x in self.place.volumes.values()))
        self.assertEqual(1, len(set(self.place.names)))

    def test_failed_job_leaves_nothing(self) -> None:
        self.place.answer = '{}'
        self.assertRaises(processes.EngineError, self.run_servers)
        self.assertEqual([], self.cluster.names())
        self.assertEqual({}, self.place.consoles)


class LabelsTest(base.TestCase):
    def test_labels_name_the_variants_of_the_report(self) -> None:
        chosen = servers_run.Chosen(
            'rbd', ('none', 'writethrough'), None, 'lvm', ('direct',)
        )
        self.assertEqual(
            servers_report.Labels(
                plain='rbd, none', through='rbd, writethrough', beside='lvm'
            ),
            chosen.labels,
        )
        self.assertEqual(
            ['rbd, none', 'rbd, writethrough', 'lvm'],
            [variant.label for variant in chosen.variants],
        )
