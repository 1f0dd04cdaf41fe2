# SPDX-License-Identifier: Apache-2.0

import logging
import pathlib

import ddt
import fixtures

from rbd_bench import plan
from rbd_bench import report
from rbd_bench import results
from rbd_bench import summary
from tests.unit import base
from tests.unit.rbd_bench import samples


@ddt.ddt
class ReportTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # matplotlib logs each font that it checks.
        logging.getLogger('matplotlib').setLevel(logging.WARNING)
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.found = samples.found(
            samples.sample(100.0),
            samples.sample(101.0, 1),
            samples.sample(102.0, 2),
            samples.sample(300.0, cache_mode='writeback'),
            samples.sample(310.0, 1, cache_mode='writeback'),
            samples.sample(305.0, 2, cache_mode='writeback'),
            samples.sample(0, error='<b>a|b', cache_mode='unsafe'),
        )

    def write(self) -> dict[str, str]:
        paths = report.write(self.folder, samples.parsed(), self.found)
        return {path.name: path.read_text() for path in paths}

    def test_report_has_figures_verdicts_and_commands(self) -> None:
        for name, text in self.write().items():
            for part in (
                'writeback',
                '3.02',
                'types ensure --name rbd-cache-mode-writeback',
                'warm_up 0, runtime 1, repetitions 2',
                'unknown, here qemu',
                'reproduced',
                'plots/disks-ratios.svg',
                'client.cpus',
            ):
                self.assertIn(part, text, name)
            self.assertNotIn('had other load', text)

    def test_text_is_escaped(self) -> None:
        written = self.write()
        self.assertIn('&lt;b&gt;a|b', written['report.html'])
        self.assertNotIn('<b>a', written['report.html'])
        self.assertIn(r'a\|b', written['report.md'])

    def test_what_striping_can_gain(self) -> None:
        self.assertIn('number of OSDs (3)', self.write()['report.md'])
        del self.found.environment['osds']
        self.assertNotIn('number of OSDs', self.write()['report.md'])

    def test_interference_is_reported(self) -> None:
        self.found.loads[0]['client_load_average'] = 7.5
        self.assertIn('7.5 on 2 cores', self.write()['report.md'])

    def test_what_is_missing(self) -> None:
        for text in self.write().values():
            self.assertNotIn('What is missing', text)
        self.found.samples[0] = samples.changed(
            self.found.samples[0], cell='disks/layout=gone'
        )
        said: list[str] = []
        report.write(self.folder, samples.parsed(), self.found, said.append)
        self.assertIn('disks/layout=gone is not part of the plan', said[0])
        for name in report.NAMES:
            text = (self.folder / name).read_text()
            self.assertIn('What is missing', text)
            self.assertIn(said[0], text)

    def test_findings_of_the_doctor(self) -> None:
        self.assertNotIn('can explain', self.write()['report.md'])
        options = self.found.environment['options']
        self.found.environment['options'] = {
            **options,
            'rbd_cache_policy': 'writethrough',
        }
        written = self.write()
        for text in written.values():
            self.assertIn('Findings that can explain a figure', text)
            self.assertIn('as slow as writethrough', text)
        page = written['report.html']
        self.assertIn('<tr id="finding-1">', page)
        # One published ratio and one table have the cache mode writeback.
        self.assertEqual(2, page.count('href="#finding-1"'))
        self.assertEqual(2, written['report.md'].count('[finding 1](#'))

    def test_nothing_measured(self) -> None:
        self.found.samples = []
        self.assertIn('cannot decide whether', self.write()['report.md'])

    def test_winner_beside_ties_and_unsteady_measurements(self) -> None:
        series = (100.0, 50.0, 100.0, 150.0, 100.0)
        self.found.samples = [
            *samples.thrice(100.0),
            *(
                samples.changed(each, series=series)
                for each in samples.thrice(200.0, cache_mode='writeback')
            ),
            *samples.thrice(200.0, layout='striped'),
        ]
        self.found.samples.append(
            samples.sample(
                0, error='x', layout='striped', cache_mode='writeback'
            )
        )
        for name, text in self.write().items():
            text = text.replace('&#34;', '"')
            self.assertIn('difference to: "striped, none"', text, name)
            self.assertIn('3 of 3 measurements of the winner were not', text)
            self.assertIn('variants without enough measurements: 1', text)

    @ddt.data(
        # rates of the baseline and of the other mode, and what is shown
        ((100.0,), (100.0,), 'cannot decide whether'),
        ((), (100.0, 101.0, 102.0), 'cannot decide whether'),
        ((100.0, 101.0, 102.0), (99.0, 101.0, 102.0), 'It is not shown that'),
    )
    @ddt.unpack
    def test_without_winner(
        self,
        before: tuple[float, ...],
        after: tuple[float, ...],
        expected: str,
    ) -> None:
        self.found.samples = [
            samples.sample(rate, place, cache_mode=mode)
            for mode, rates in (('none', before), ('writeback', after))
            for place, rate in enumerate(rates)
        ]
        if not before:
            self.found.samples.insert(0, samples.sample(0, error='failed'))
        for name, text in self.write().items():
            for phrase in ('cannot decide whether', 'It is not shown that'):
                self.assertEqual(phrase == expected, phrase in text, name)

    def test_other_load_leaves_no_verdict(self) -> None:
        self.found.samples = [
            *samples.thrice(100.0),
            *samples.thrice(200.0, cache_mode='writeback'),
        ]
        for text in self.write().values():
            self.assertIn('cache-mode-writeback', text)
        self.found.loads = [
            {**each, 'operations_per_second': 1930.0}
            for each in self.found.loads
        ]
        for text in self.write().values():
            self.assertIn('had other load', text)
            self.assertIn('not shown: the machine or the cluster', text)
            self.assertIn('cannot decide whether', text)
            self.assertNotIn('types ensure', text)
            self.assertNotIn('reproduced', text)

    def test_one_undecided_table(self) -> None:
        self.found.samples = [
            *samples.thrice(100.0),
            *samples.thrice(100.0, cache_mode='writeback'),
            samples.sample(1.0, features='without'),
            samples.sample(9.0, features='with'),
        ]
        text = self.write()['report.md']
        self.assertIn('not shown: no variant is faster than the', text)
        self.assertIn('cannot be decided: fewer than 3 measurements', text)
        self.assertNotIn('It is not shown that', text)


_STRIPED_ONLY = samples.PLAN.partition('published:')[0].replace(
    '      stock: {}\n', ''
)


class VolumeTypesTest(base.TestCase):
    def tables(self, *taken: results.Sample) -> list[summary.Table]:
        return summary.tables(samples.parsed(), samples.found(*taken))

    def test_volume_types_are_found_from_winners(self) -> None:
        tables = self.tables(
            *(
                each
                for load in ('small', 'mixed')
                for rate, layout, mode in (
                    (100.0, 'stock', 'none'),
                    (150.0, 'striped', 'none'),
                    (140.0, 'stock', 'writeback'),
                    (200.0, 'striped', 'writeback'),
                )
                for each in samples.thrice(
                    rate, workload=load, layout=layout, cache_mode=mode
                )
            ),
            *samples.thrice(10.0, features='without'),
            *samples.thrice(50.0, features='with'),
        )
        striped, mapped = report.volume_types(tables)
        self.assertEqual(('small', 'mixed'), striped.loads)
        self.assertEqual(
            'cinder-rbd-ext types ensure --name '
            'rbd-stripe-unit-64k-stripe-count-8-cache-mode-writeback '
            '--property rbd:stripe_unit=64K --property rbd:stripe_count=8 '
            '--property rbd:cache_mode=writeback',
            striped.command,
        )
        self.assertEqual({'rbd:object_map': 'true'}, mapped.properties)

    def test_keys_that_all_rows_have(self) -> None:
        whole_plan = plan.parse(_STRIPED_ONLY)
        measured = samples.found(
            *samples.thrice(100.0, layout='striped'),
            *samples.thrice(200.0, layout='striped', cache_mode='writeback'),
        )
        (each,) = report.volume_types(summary.tables(whole_plan, measured))
        # The type is the one that was measured.
        self.assertEqual(
            {
                'rbd:stripe_unit': '64K',
                'rbd:stripe_count': '8',
                'rbd:cache_mode': 'writeback',
            },
            each.properties,
        )

    def test_cache_mode_of_all_rows(self) -> None:
        (each,) = report.volume_types(
            self.tables(
                *samples.thrice(100.0, cache_mode='writeback'),
                *samples.thrice(
                    200.0, layout='striped', cache_mode='writeback'
                ),
            )
        )
        self.assertEqual('writeback', each.properties['rbd:cache_mode'])

    def test_winner_without_keys(self) -> None:
        whole_plan = plan.parse(
            _STRIPED_ONLY.replace(
                'cache_modes: [none, writeback, unsafe]',
                'allocators: [libc, tcmalloc]',
            )
        )
        measured = samples.found()
        measured.samples = [
            each
            for allocator, rate in (('libc', 100.0), ('tcmalloc', 150.0))
            for each in samples.thrice(
                rate, whole_plan, run='disks', allocator=allocator
            )
        ]
        (table,) = summary.tables(whole_plan, measured)
        self.assertEqual('tcmalloc', table.best.label)
        self.assertEqual([], report.volume_types([table]))
