# SPDX-License-Identifier: Apache-2.0

import pathlib

import fixtures

from rbd_volume_tools.bench import plots
from rbd_volume_tools.bench import results
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import samples


class PlotsTest(base.TestCase):
    def test_plot_shows_medians_and_is_reproducible(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        measured = samples.measured(
            *samples.thrice(100.0),
            *samples.thrice(300.0, cache_mode='writeback'),
        )
        tables = results.tables(measured)
        self.assertEqual({'disks': ['run-0.svg']}, plots.draw(folder, tables))
        text = (folder / 'run-0.svg').read_text()
        self.assertIn('>writeback<', text)
        plots.draw(folder, tables)
        self.assertEqual(text, (folder / 'run-0.svg').read_text())
