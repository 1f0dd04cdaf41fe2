# SPDX-License-Identifier: Apache-2.0


from typing import Any

import ddt

from rbd_volume_options import image_arguments
from rbd_volume_options import layout
from rbd_volume_options import options
from tests import feature_bits
from tests import option_values
from tests.unit import base
from tests.unit.cinder_rbd_ext import librbd_case

#: Plans, and the librbd arguments for each.
_ARGUMENTS: dict[str, tuple[options.Values, dict[str, Any]]] = {
    'nothing': (option_values.planned(), {}),
    'plain_layout': (
        option_values.planned(layout.ImageLayout(8 << 20)),
        {'order': 23, 'stripe_unit': 8 << 20, 'stripe_count': 1},
    ),
    'striped_layout': (
        option_values.planned(librbd_case.STRIPED),
        {'order': 20, 'stripe_unit': 64 << 10, 'stripe_count': 8},
    ),
    'features': (
        option_values.planned(
            image_features=frozenset({'layering', 'journaling'})
        ),
        {'features': feature_bits.LAYERING | feature_bits.JOURNALING},
    ),
    'features_that_follow': (
        option_values.planned(
            image_features=frozenset({'layering', 'striping', 'data-pool'})
        ),
        {'features': feature_bits.LAYERING},
    ),
    'no_features': (
        option_values.planned(image_features=frozenset()),
        {'features': 0},
    ),
    'data_pool': (
        option_values.planned(data_pool='data'),
        {'data_pool': 'data'},
    ),
}


@ddt.ddt
class ArgumentsTest(base.TestCase):
    @ddt.data(*_ARGUMENTS)
    def test_plan_becomes_arguments_of_librbd(self, case: str) -> None:
        how, arguments = _ARGUMENTS[case]
        self.assertEqual(arguments, image_arguments.create_arguments(how))
