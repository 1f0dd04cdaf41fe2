# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import planned
from rbd_volume_options import layout
from rbd_volume_options import plan
from tests.unit import base

# The stock driver's commands for Glance images and encrypted volumes.
_GLANCE = (
    'rbd',
    'import',
    '--pool',
    'volumes',
    '--order',
    22,
    '/tmp/tmp1',
    'volume-1',
    '--new-format',
    '--id',
    'cinder',
)
_ENCRYPTED = (
    'rbd',
    'import',
    '--dest-pool',
    'volumes',
    '--order',
    23,
    '/tmp/tmp1',
    'volume-1',
    '--id',
    'cinder',
)


class CreationOfTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.creations = creations.Creations()

        def planner(
            base: plan.ImageState, parent: plan.ImageState | None
        ) -> plan.ImagePlan:
            raise NotImplementedError

        self.creation = creations.Creation('volume-1', planner)

    def _found(self, *command: Any) -> creations.Creation | None:
        with self.creations.hold(self.creation):
            return planned.creation_of(command, self.creations)

    def test_import_is_recognised_by_its_command(self) -> None:
        self.assertIs(self.creation, self._found(*_GLANCE))
        self.assertIs(self.creation, self._found(*_ENCRYPTED))

    def test_import_of_another(self) -> None:
        self.assertIsNone(self._found('rbd', 'import', '/tmp/x', 'volume-2'))

    def test_other_commands(self) -> None:
        self.assertIsNone(self._found('rbd', 'export', 'volume-1', '/tmp/x'))
        self.assertIsNone(self._found('qemu-img', 'convert', 'volume-1'))
        self.assertIsNone(self._found('rbd'))
        self.assertIsNone(self._found())

    def test_not_under_way(self) -> None:
        self.assertIsNone(planned.creation_of(_GLANCE, self.creations))


@ddt.ddt
class ObjectSizeTest(base.TestCase):
    @ddt.data((_GLANCE, 4), (_ENCRYPTED, 8), (('rbd', 'import'), 4))
    @ddt.unpack
    def test_object_size(self, command: tuple[Any, ...], mib: int) -> None:
        self.assertEqual(mib << 20, planned.object_size_of(command))

    def test_order_is_read_from_the_command(self) -> None:
        self.assertEqual(
            1 << 20, planned.object_size_of(('x', '--order', '20'))
        )


class RewriteTest(base.TestCase):
    def test_nothing_planned(self) -> None:
        self.assertEqual(_GLANCE, planned.rewrite(_GLANCE, plan.ImagePlan()))

    def test_layout_is_passed_in_bytes(self) -> None:
        """Sizes are in bytes: ``--object-size 6M`` is silently rounded."""
        how = plan.ImagePlan(
            layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8))
        )
        self.assertEqual(
            (
                'rbd',
                'import',
                '--dest-pool',
                'volumes',
                '/tmp/tmp1',
                'volume-1',
                '--id',
                'cinder',
                '--object-size',
                '1048576',
                '--stripe-unit',
                '65536',
                '--stripe-count',
                '8',
            ),
            planned.rewrite(_ENCRYPTED, how),
        )

    def test_layout_over_no_order(self) -> None:
        how = plan.ImagePlan(layout.ImageLayout(1 << 20))
        self.assertEqual(
            ('--object-size', '1048576'),
            planned.rewrite(('rbd', 'import'), how)[2:4],
        )

    def test_features_that_librbd_sets_are_not_passed(self) -> None:
        """Features that librbd sets by itself are not passed."""
        how = plan.ImagePlan(
            image_features=frozenset(
                {'layering', 'exclusive-lock', 'striping', 'data-pool'}
            )
        )
        self.assertEqual(
            (
                *_GLANCE,
                '--image-feature',
                'exclusive-lock',
                '--image-feature',
                'layering',
            ),
            planned.rewrite(_GLANCE, how),
        )

    def test_data_pool(self) -> None:
        self.assertEqual(
            (*_GLANCE, '--data-pool', 'data'),
            planned.rewrite(_GLANCE, plan.ImagePlan(data_pool='data')),
        )
