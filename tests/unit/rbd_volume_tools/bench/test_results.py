# SPDX-License-Identifier: Apache-2.0

import contextlib
import json
import pathlib

import fixtures
import hypothesis
from hypothesis import strategies

from rbd_volume_options import errors
from rbd_volume_tools.bench import results
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.bench import samples


class ResultsTest(untrusted.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.measured = samples.measured(
            samples.sample(2.0), samples.sample(0, 1, 'failed')
        )

    def test_saved_results_are_loaded(self) -> None:
        results.save(self.folder, self.measured)
        self.assertEqual(self.measured, results.load(self.folder))

    @hypothesis.given(strategies.data())
    def test_damaged_results_are_read_or_refused(
        self, data: strategies.DataObject
    ) -> None:
        results.save(self.folder, self.measured)
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

    def test_folder_belongs_to_one_run_at_a_time(self) -> None:
        with results.locked(self.folder):
            error = self.assertRaises(
                errors.OptionError, results.locked(self.folder).__enter__
            )
        self.assertIn('in use by another run', str(error))
        with results.locked(self.folder):
            pass

    def test_repeated_measurement_replaces_a_failed_one(self) -> None:
        cell = samples.cell().ident
        self.assertEqual({(cell, 0)}, self.measured.done())
        self.measured.add(samples.sample(3.0, 1))
        self.assertEqual({(cell, 0), (cell, 1)}, self.measured.done())
        spread = self.measured.spread(cell)
        self.assertEqual(
            results.Spread(2.5, 2.5, 0.5**0.5, 2.0, 3.0, 2), spread
        )

    def resumed(
        self, text: str, fsid: str = 'cluster', pool: str = 'volumes'
    ) -> results.Results:
        results.save(self.folder, self.measured)
        parsed = samples.from_text(text)
        return results.resumed(self.folder, parsed, fsid, pool)

    def test_run_continues_with_newer_texts(self) -> None:
        text = samples.PLAN.replace('A plan', 'Another title')
        continued = self.resumed(text)
        self.assertEqual(self.measured.samples, continued.samples)
        self.assertEqual('Another title', continued.plan.title)

    def test_other_measurements_are_not_continued(self) -> None:
        for other in (
            (samples.PLAN.replace('runtime: 1', 'runtime: 2'),),
            (samples.PLAN.replace('size: 4K', 'size: 8K'),),
            (samples.PLAN, 'another'),
            (samples.PLAN, 'cluster', 'others'),
        ):
            error = self.assertRaises(errors.OptionError, self.resumed, *other)
            self.assertIn('--output', str(error))
