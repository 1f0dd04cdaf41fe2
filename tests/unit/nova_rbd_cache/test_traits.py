# SPDX-License-Identifier: Apache-2.0

"""Traits that nova-compute reports and nova-scheduler queries."""

from nova import context
from nova.scheduler.client import report

from nova_rbd_cache import traits
from rbd_volume_options import cache_modes
from tests.unit.nova_rbd_cache import base
from tests.unit.nova_rbd_cache import fake_placement

_MODE = cache_modes.CacheMode.WRITEBACK
_TRAIT = 'CUSTOM_RBD_CACHE_WRITEBACK'


class TraitsTest(base.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.placement = fake_placement.FakePlacement(
            one={_TRAIT, 'CUSTOM_RBD_CACHE_NONE'},
            two={'CUSTOM_RBD_CACHE_NONE'},
            three={_TRAIT},
        )
        self.patch(report, 'report_client_singleton', lambda: self.placement)

    def nodes(self, mode: cache_modes.CacheMode = _MODE) -> frozenset[str]:
        """Return the compute nodes with the trait of a mode."""
        return traits.nodes_with(context.get_admin_context(), mode)

    def test_trait_is_named_after_its_mode(self) -> None:
        self.assertEqual(_TRAIT, traits.of_mode(_MODE))

    def test_traits_are_read_for_each_node(self) -> None:
        self.assertEqual({'one', 'three'}, self.nodes())

    def test_never_reported(self) -> None:
        unsafe = cache_modes.CacheMode.UNSAFE
        self.assertEqual(frozenset(), self.nodes(unsafe))

    def test_no_answer(self) -> None:
        self.placement.status = 503
        error = self.assertRaises(ValueError, self.nodes)
        self.assertIn('/traits', str(error))
        self.assertIn('503', str(error))
