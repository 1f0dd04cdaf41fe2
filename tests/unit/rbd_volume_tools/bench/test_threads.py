# SPDX-License-Identifier: Apache-2.0

import pathlib
from unittest import mock

import fixtures

from rbd_volume_tools.bench import threads
from tests.unit import base


class ThreadsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.busiest = threads.Busiest(self.root)

    def read(self, seconds: float, **ticks: int) -> None:
        for name, used in ticks.items():
            folder = self.root / '5/task' / name
            folder.mkdir(parents=True, exist_ok=True)
            names = {'a': 'msgr-worker-0', 'b': 'msgr-worker-1', 'c': 'fio) '}
            fields = ['S', *['0'] * 10, str(used), '0', '0']
            (folder / 'stat').write_text(
                f'1 ({names[name]}) {" ".join(fields)}'
            )
        with mock.patch('time.monotonic', autospec=True, return_value=seconds):
            self.busiest.read(5)

    def test_busiest_messenger_thread_counts(self) -> None:
        self.read(10.0, a=0, b=0, c=0)
        self.read(11.0, a=50, b=95, c=100)
        self.read(12.0, a=60, b=100, c=200)
        self.assertAlmostEqual(95.0, self.busiest.percent)

    def test_process_without_such_threads(self) -> None:
        self.read(10.0, c=0)
        self.read(11.0, c=100)
        self.assertEqual(0.0, self.busiest.percent)
