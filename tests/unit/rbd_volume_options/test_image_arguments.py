# SPDX-License-Identifier: Apache-2.0

from typing import Any

from rbd_volume_options import image_arguments
from rbd_volume_options import layout
from tests import feature_bits
from tests import option_values
from tests.unit import base

# The stock driver's commands for Glance images and encrypted volumes.
_GLANCE = (
    *('rbd', 'import', '--pool', 'volumes', '--order', 22, '/tmp/tmp1'),
    *('volume-1', '--new-format', '--id', 'cinder'),
)
_ENCRYPTED = ('rbd', 'import', '--order', 23, '/tmp/tmp1', 'volume-1')
_STRIPED = layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8))
# Those that librbd sets by itself are not passed.
_FEATURES = frozenset({'layering', 'journaling', 'striping', 'data-pool'})


class ArgumentsTest(base.TestCase):
    def test_plan_becomes_arguments_of_librbd(self) -> None:
        planned = option_values.planned
        for how, arguments in (
            (planned(), {}),
            (
                planned(layout.ImageLayout(8 << 20)),
                {'order': 23, 'stripe_unit': 8 << 20, 'stripe_count': 1},
            ),
            (
                planned(_STRIPED),
                {'order': 20, 'stripe_unit': 64 << 10, 'stripe_count': 8},
            ),
            (
                planned(image_features=_FEATURES),
                {'features': feature_bits.LAYERING | feature_bits.JOURNALING},
            ),
            (planned(image_features=frozenset()), {'features': 0}),
            (planned(data_pool='data'), {'data_pool': 'data'}),
        ):
            made = image_arguments.create_arguments(how)
            self.assertEqual(arguments, made)

    def test_object_size_of_a_command_is_that_of_its_order(self) -> None:
        commands: dict[tuple[Any, ...], int] = {
            _GLANCE: 4,
            _ENCRYPTED: 8,
            ('rbd', 'import'): 4,
            ('rbd', '--order', '20'): 1,
        }
        for command, mib in commands.items():
            size = image_arguments.object_size_of(command)
            self.assertEqual(mib << 20, size)

    def test_plan_becomes_arguments_of_an_import(self) -> None:
        """Sizes are in bytes: ``--object-size 6M`` is silently rounded."""
        planned = option_values.planned
        striped = (
            *('--object-size', '1048576B', '--stripe-unit', '65536B'),
            *('--stripe-count', '8'),
        )
        commands: tuple[tuple[tuple[Any, ...], Any, tuple[Any, ...]], ...] = (
            (_GLANCE, planned(), _GLANCE),
            (
                _ENCRYPTED,
                planned(_STRIPED),
                ('rbd', 'import', '/tmp/tmp1', 'volume-1', *striped),
            ),
            (('rbd',), planned(_STRIPED), ('rbd', *striped)),
            (
                _GLANCE,
                planned(image_features=_FEATURES),
                (
                    *(*_GLANCE, '--image-feature', 'journaling'),
                    *('--image-feature', 'layering'),
                ),
            ),
            (
                _GLANCE,
                planned(data_pool='data'),
                (*_GLANCE, '--data-pool', 'data'),
            ),
        )
        for command, how, expected in commands:
            made = image_arguments.import_command(command, how)
            self.assertEqual(expected, made)

    def test_copy_keeps_its_pool(self) -> None:
        """librbd would use the default data pool of its configuration."""
        for data_pool in (None, 'data'):
            target = option_values.planned(_STRIPED, _FEATURES, data_pool)
            words = image_arguments.copy_arguments(target, 'volumes')
            self.assertEqual(
                data_pool or 'volumes', words[words.index('--data-pool') + 1]
            )
