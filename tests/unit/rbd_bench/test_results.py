# SPDX-License-Identifier: Apache-2.0

import contextlib
import json
import pathlib
from typing import Any

import fixtures
import hypothesis
from hypothesis import strategies

from rbd_bench import plan
from rbd_bench import results
from rbd_volume_options import errors
from tests.unit import untrusted
from tests.unit.rbd_bench import samples


class ResultsTest(untrusted.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.found = samples.found(
            samples.sample(2.0), samples.sample(0, 1, 'failed')
        )

    def test_round_trip(self) -> None:
        results.save(self.folder, self.found)
        self.assertEqual(self.found, results.load(self.folder))

    @hypothesis.given(strategies.data())
    def test_damaged_results_are_read_or_refused(
        self, data: strategies.DataObject
    ) -> None:
        results.save(self.folder, self.found)
        path = self.folder / results.FILE
        content = json.loads(path.read_text())
        path.write_text(json.dumps(data.draw(untrusted.altered(content))))
        with contextlib.suppress(errors.OptionError):
            results.load(self.folder)
        path.write_bytes(data.draw(untrusted.BYTES))
        self.assertRaises(errors.OptionError, results.load, self.folder)
        path.write_bytes(b'[' * 100_000)
        self.assertRaises(errors.OptionError, results.load, self.folder)

    @hypothesis.given(untrusted.TEXTS)
    def test_any_cell_has_a_plain_file_name(self, cell: str) -> None:
        hypothesis.assume(cell.isprintable())
        name = results.raw_name(1, cell)
        self.assertRegex(name, r'\A1-[A-Za-z0-9=.-]{0,160}\.json\Z')
        self.assertNotIn('/', name)

    def test_folder_belongs_to_one_run_at_a_time(self) -> None:
        folder = self.folder / 'new'
        for _ in range(2):
            with results.locked(folder):
                error = self.assertRaises(
                    errors.OptionError,
                    results.locked(folder).__enter__,
                )
        self.assertIn('in use by another run', str(error))

    def test_file_with_the_name_of_the_lock_keeps_its_content(self) -> None:
        lock = self.folder / 'lock'
        lock.write_text('of a person')
        with results.locked(self.folder):
            self.assertEqual('of a person', lock.read_text())

    def test_failed_measurements_are_repeated(self) -> None:
        cell = samples.cell().ident
        self.assertEqual({(cell, 0)}, self.found.done())
        self.found.add(samples.sample(3.0, 1))
        self.assertEqual({(cell, 0), (cell, 1)}, self.found.done())
        self.assertEqual({cell: [2.0, 3.0]}, self.found.rates())

    def resumed(
        self,
        whole_plan: plan.Plan | None = None,
        fsid: str = 'cluster',
        pool: str = 'volumes',
    ) -> results.Results:
        return results.resumed(
            self.folder, whole_plan or samples.parsed(), fsid, pool
        )

    def refusal(self, *plans: Any, **changed: str) -> str:
        return str(
            self.assertRaises(
                errors.OptionError, self.resumed, *plans, **changed
            )
        )

    def test_results_are_resumed_from_the_folder(self) -> None:
        new = self.resumed()
        self.assertEqual([], new.samples)
        self.assertEqual(samples.parsed(), new.whole_plan)
        new.samples = self.found.samples
        results.save(self.folder, new)
        self.assertEqual(new, self.resumed())

    def test_resumed_with_another_plan(self) -> None:
        results.save(self.folder, self.resumed())
        for old, other, named in (
            ('runtime: 1', 'runtime: 2', 'settings.runtime: 1, not 2'),
            ('name: mine', 'name: other', 'name: mine, not other'),
            (
                'block_size: 4K',
                'block_size: 8K',
                'runs[disks].workloads[small].block_size: 4096, not 8192',
            ),
            (
                'sizes: [1T]',
                'sizes: [1T, 2T]',
                'runs[deletion].axes.size: 1T, not 1T, 2T',
            ),
            # The first is the baseline.
            (
                '[none, writeback, unsafe]',
                '[writeback, none, unsafe]',
                'axes.cache_mode: none, writeback, unsafe, not writeback',
            ),
        ):
            changed = plan.parse(samples.PLAN.replace(old, other))
            self.assertIn(named, self.refusal(changed))

    def test_resumed_elsewhere(self) -> None:
        results.save(self.folder, self.resumed())
        self.assertIn(
            'cluster: cluster, not other', self.refusal(fsid='other')
        )
        self.assertIn('pool: volumes, not ssd', self.refusal(pool='ssd'))

    def test_resumed_with_other_published_ratios(self) -> None:
        results.save(self.folder, self.resumed())
        whole_plan = plan.parse(samples.PLAN.replace('ratio: 2', 'ratio: 3'))
        self.assertEqual(whole_plan, self.resumed(whole_plan).whole_plan)

    def test_unreadable_results_are_named(self) -> None:
        for text in (
            *('', '[', '[]', 'null', '"text"', '1', '{}'),
            json.dumps({'format': 99}),
            json.dumps({'format': 1, 'samples': [1], 'settings': {}}),
            json.dumps({'format': 1, 'samples': [], 'settings': None}),
        ):
            (self.folder / results.FILE).write_text(text)
            error = self.assertRaises(
                errors.OptionError, results.load, self.folder
            )
            self.assertIn('no readable results', str(error))
        self.assertRaises(errors.OptionError, results.load, self.folder / 'no')

    def test_interrupted_writing(self) -> None:
        results.save(self.folder, self.found)
        self.found.environment['odd'] = object()
        self.assertRaises(TypeError, results.save, self.folder, self.found)
        self.assertEqual(2, len(results.load(self.folder).samples))
