# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_options import image_arguments
from rbd_volume_options import layout
from tests import option_values
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


@ddt.ddt
class ObjectSizeTest(base.TestCase):
    @ddt.data((_GLANCE, 4), (_ENCRYPTED, 8), (('rbd', 'import'), 4))
    @ddt.unpack
    def test_object_size(self, command: tuple[Any, ...], mib: int) -> None:
        self.assertEqual(mib << 20, image_arguments.object_size_of(command))

    def test_order_is_read_from_the_command(self) -> None:
        self.assertEqual(
            1 << 20, image_arguments.object_size_of(('x', '--order', '20'))
        )


class RewriteTest(base.TestCase):
    def test_nothing_planned(self) -> None:
        how = option_values.planned()
        self.assertEqual(_GLANCE, image_arguments.import_command(_GLANCE, how))

    def test_layout_is_passed_in_bytes(self) -> None:
        """Sizes are in bytes: ``--object-size 6M`` is silently rounded."""
        how = option_values.planned(
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
            image_arguments.import_command(_ENCRYPTED, how),
        )

    def test_layout_over_no_order(self) -> None:
        how = option_values.planned(layout.ImageLayout(1 << 20))
        self.assertEqual(
            ('--object-size', '1048576'),
            image_arguments.import_command(('rbd', 'import'), how)[2:4],
        )

    def test_features_that_librbd_sets_are_not_passed(self) -> None:
        """Features that librbd sets by itself are not passed."""
        how = option_values.planned(
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
            image_arguments.import_command(_GLANCE, how),
        )

    def test_data_pool(self) -> None:
        self.assertEqual(
            (*_GLANCE, '--data-pool', 'data'),
            image_arguments.import_command(
                _GLANCE, option_values.planned(data_pool='data')
            ),
        )
