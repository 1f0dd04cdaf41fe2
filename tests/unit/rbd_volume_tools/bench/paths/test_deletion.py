# SPDX-License-Identifier: Apache-2.0

from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench.paths import deletion
from tests.unit.rbd_volume_tools.bench import samples
from tests.unit.rbd_volume_tools.bench.paths import base


class DeletionTest(base.PathTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cell = samples.cell(features='with')

    def test_rate_is_deletions_per_second(self) -> None:
        with deletion.prepared(self.around, self.cell) as measure:
            figures = measure(self.cell, self.raw())
        self.assertAlmostEqual(1, figures.rate * figures.detail['seconds'])
        self.assertEqual([], self.cluster.names())

    def test_interrupted_deletion_is_completed(self) -> None:
        remove = self.replace(images.Images, 'remove')
        remove.side_effect = [KeyboardInterrupt, True]
        with deletion.prepared(self.around, self.cell) as measure:
            self.assertRaises(
                KeyboardInterrupt, measure, self.cell, self.raw()
            )
        self.assertIn('Waiting for the deletion', self.said[0])
        self.assertEqual(2, remove.call_count)

    def test_image_that_another_client_has_open(self) -> None:
        """The wait for the other client would be part of the figure."""
        remove = self.replace(images.Images, 'remove')
        remove.side_effect = [False, True]
        with deletion.prepared(self.around, self.cell) as measure:
            error = self.assertRaises(
                processes.EngineError, measure, self.cell, self.raw()
            )
        self.assertIn('another client had it open', str(error))
        self.assertEqual(0, remove.call_args_list[0][0][2])
