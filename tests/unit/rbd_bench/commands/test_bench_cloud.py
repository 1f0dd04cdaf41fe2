# SPDX-License-Identifier: Apache-2.0

import argparse
from typing import Any

from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench.commands import bench_cloud
from rbd_volume_options import errors
from tests.unit import base
from tests.unit.rbd_bench import samples


class BenchCloudTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cells = matrix.cells(plan.parse(samples.GUEST_PLAN))
        self.said: list[str] = []

    def parsed(self, *words: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        bench_cloud.add(parser)
        parser.add_argument('--pool', default='volumes')
        return parser.parse_args(words)

    def left_out(self, cells: list[Any], *words: str) -> list[Any]:
        return bench_cloud.left_out(
            self.parsed(*words), cells, self.said.append
        )

    def test_without_image(self) -> None:
        cells = self.left_out(self.cells)
        self.assertEqual({'deletion'}, {each.run.path for each in cells})
        (line,) = self.said
        self.assertIn('Run disks is left out', line)

    def test_with_image(self) -> None:
        words = ('--server-image', 'fio', '--flavor', 'small')
        self.assertEqual(self.cells, self.left_out(self.cells, *words))
        self.assertEqual([], self.said)

    def test_nothing_else_is_selected(self) -> None:
        cells = [x for x in self.cells if x.run.path == plan.GUEST]
        error = self.assertRaises(errors.OptionError, self.left_out, cells)
        self.assertIn('--server-image', str(error))

    def test_image_without_flavor(self) -> None:
        error = self.assertRaises(
            errors.OptionError,
            *(self.left_out, self.cells, '--server-image', 'fio'),
        )
        self.assertIn('--flavor', str(error))

    def test_cloud_is_connected_only_for_guest_options(self) -> None:
        def connect() -> None:
            self.fail('connected')

        self.assertIsNone(bench_cloud.cloud(self.parsed(), connect, 'f'))
        words = ('--server-image', 'fio', '--flavor', 'small')
        parsed = self.parsed(*words)
        self.assertIsNotNone(bench_cloud.cloud(parsed, lambda: None, 'f'))
