# SPDX-License-Identifier: Apache-2.0

"""Traits that nova-compute reports."""

from nova_rbd_cache import traits
from rbd_volume_options.families import cache_modes
from tests.unit.nova_rbd_cache import base


class TraitsTest(base.NovaTestCase):
    def test_trait_is_named_after_its_mode(self) -> None:
        self.assertEqual(
            'CUSTOM_RBD_CACHE_WRITEBACK',
            traits.of_mode(cache_modes.CacheMode.WRITEBACK),
        )
