# SPDX-License-Identifier: Apache-2.0

"""Inheritance from a volume of another type, on a real cluster."""

from collections.abc import Callable
import json
from typing import Any

import ddt
from oslo_utils import units

from rbd_volume_options import keys
from tests import runs
from tests.functional.cinder_rbd_ext import base

_DEFAULT = {
    'object_size': 4 * units.Mi,
    'stripe_unit': 4 * units.Mi,
    'stripe_count': 1,
}
_DATA_POOL = 'volumes-data'


def _from_volume(case: base.DriverTestCase, source: Any, volume: Any) -> Any:
    return case.driver.create_cloned_volume(volume, source)


def _from_snapshot(case: base.DriverTestCase, source: Any, volume: Any) -> Any:
    snapshot = case.new_snapshot(source)
    return case.driver.create_volume_from_snapshot(volume, snapshot)


# The same rules on a fake, which is compared with librbd.
@runs.tags(runs.NIGHTLY)
@ddt.ddt
class InheritanceTest(base.DriverTestCase):
    """Limits apply to the new volume, whatever the origin of a value."""

    def _made(
        self,
        way: Callable[..., Any],
        source: Any,
        metadata: dict[str, str] | None = None,
        **specs: str,
    ) -> Any:
        """Create a volume of another type from a volume."""
        volume = self.new_volume(metadata, self.make_type(**specs))
        self.update(volume, way(self, source, volume))
        return volume

    def _data_pool(self, volume: Any) -> str | None:
        out = self.rbd('info', '--format', 'json', f'volumes/{volume.name}')
        pool: str | None = json.loads(out).get('data_pool')
        return pool

    @ddt.data(_from_volume, _from_snapshot)
    def test_data_pool(self, way: Callable[..., Any]) -> None:
        fast = self.make_type(rbd_data_pool=_DATA_POOL)
        source = self.made_volume(type_id=fast)
        self.assertEqual(_DATA_POOL, self._data_pool(source))
        made = self._made(way, source)
        self.assertIsNone(self._data_pool(made))
        self.assertNotIn(keys.DATA_POOL, self.recorded(made))
        same = self._made(way, source, rbd_data_pool=_DATA_POOL)
        self.assertEqual(_DATA_POOL, self._data_pool(same))

    @ddt.data(_from_volume, _from_snapshot)
    def test_layout_that_the_type_does_not_allow(
        self, way: Callable[..., Any]
    ) -> None:
        source = self.made_volume(base.ASKED)
        made = self._made(way, source, rbd_tenant_options='')
        self.assertEqual(_DEFAULT, self.layout_of(made))
        self.assertEqual('4194304', self.recorded(made)[keys.OBJECT_SIZE])

    @ddt.data(_from_volume, _from_snapshot)
    def test_layout_of_another_type(self, way: Callable[..., Any]) -> None:
        striped = self.make_type(rbd_stripe_unit='64K', rbd_stripe_count='8')
        source = self.made_volume(type_id=striped)
        made = self._made(way, source, rbd_tenant_options='')
        self.assertEqual(_DEFAULT, self.layout_of(made))

    @ddt.data(_from_volume, _from_snapshot)
    def test_layout_through_a_clone_between(
        self, way: Callable[..., Any]
    ) -> None:
        """Neither the intermediate clone nor its type has keys."""
        between = self._made(way, self.made_volume(base.ASKED))
        self.assertEqual(base.MADE, self.layout_of(between))
        made = self._made(way, between, rbd_tenant_options='')
        self.assertEqual(_DEFAULT, self.layout_of(made))

    @ddt.data(_from_volume, _from_snapshot)
    def test_what_is_dropped_gives_way_to_the_type(
        self, way: Callable[..., Any]
    ) -> None:
        source = self.made_volume(base.ASKED)
        made = self._made(
            way,
            source,
            rbd_tenant_options='',
            rbd_stripe_unit='32K',
            rbd_stripe_count='4',
        )
        self.assertEqual(
            {**_DEFAULT, 'stripe_unit': 32 * units.Ki, 'stripe_count': 4},
            self.layout_of(made),
        )

    @ddt.data(_from_volume, _from_snapshot)
    def test_features_that_tenants_may_not_set_are_not_inherited(
        self, way: Callable[..., Any]
    ) -> None:
        source = self.made_volume({keys.OBJECT_MAP: 'false'})
        self.assertNotIn('object-map', self.features_of(source))
        made = self._made(way, source, rbd_tenant_options='')
        self.assertIn('object-map', self.features_of(made))
        self.assertEqual(0, self.flags_of(made))
        allowed = self._made(way, source)
        self.assertNotIn('object-map', self.features_of(allowed))

    @ddt.data(_from_volume, _from_snapshot)
    def test_limits_of_the_back_end(self, way: Callable[..., Any]) -> None:
        source = self.made_volume(base.ASKED)
        self.driver = self.make_driver(rbd_max_stripe_count=4)
        self.assertEqual(_DEFAULT, self.layout_of(self._made(way, source)))

    @ddt.data(_from_volume, _from_snapshot)
    def test_stripes_that_would_not_be_whole(
        self, way: Callable[..., Any]
    ) -> None:
        source = self.made_volume(
            {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'}, size=3
        )
        volume = self.new_volume(type_id=self.make_type(), size=4)
        self.update(volume, way(self, source, volume))
        self.assertEqual(_DEFAULT, self.layout_of(volume))

    def test_striping_of_ceph_is_not_restricted(self) -> None:
        """It is kept when a volume inherits it or is extended."""
        for name, value in (('unit', '65536'), ('count', '3')):
            option = f'rbd_default_stripe_{name}'
            self.rbd('config', 'pool', 'set', 'volumes', option, value)
            self.addCleanup(
                self.rbd, 'config', 'pool', 'remove', 'volumes', option
            )
        striped = {**_DEFAULT, 'stripe_unit': 65536, 'stripe_count': 3}
        source = self.made_volume()
        self.assertEqual(striped, self.layout_of(source))
        for way in (_from_volume, _from_snapshot):
            made = self._made(way, source, rbd_tenant_options='')
            self.assertEqual(striped, self.layout_of(made))
        self.driver.extend_volume(source, 2)
        self.assertEqual(2 * units.Gi, self.size_of(source))
