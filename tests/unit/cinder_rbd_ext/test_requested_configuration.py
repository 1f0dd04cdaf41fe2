# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder import objects

from cinder_rbd_ext import record
from cinder_rbd_ext import requested_configuration
from rbd_volume_options import keys
from rbd_volume_options import volume_items
from tests.unit.cinder_rbd_ext import base

_HINT = {keys.COMPRESSION_HINT: 'compressible'}


class RequestedConfigurationTest(base.DriverTestCase):
    def _target(self, volume: Any) -> requested_configuration.Target:
        current = objects.Volume.get_by_id(self.admin, volume.id)
        return requested_configuration.Target(current)

    def _wanted(self, volume: Any) -> dict[str, Any]:
        return self._target(volume).difference(self.driver.settings) or {}

    def test_keys_of_other_kinds_do_not_matter(self) -> None:
        metadata = {**_HINT, 'rbd:cache_mode': 'huge', 'rbd:object_size': '3'}
        volume = self.new_volume(metadata)
        self.assertEqual(_HINT, self._wanted(volume))

    def test_volume_overrides_its_type(self) -> None:
        specs = self.make_type(rbd_compression_hint='incompressible')
        volume = self.new_volume(_HINT, volume_type=specs)
        self.assertEqual(_HINT, self._wanted(volume))

    def test_invalid_key_of_a_volume_leaves_that_of_its_type(self) -> None:
        specs = self.make_type(rbd_compression_hint='compressible')
        volume = self.new_volume(
            {keys.COMPRESSION_HINT: 'huge'}, volume_type=specs
        )
        self.assertEqual(_HINT, self._wanted(volume))

    def test_invalid_key_of_a_volume_leaves_keys_of_other_families(
        self,
    ) -> None:
        """It is ignored together with the other keys of its family."""
        volume = self.new_volume(
            {**_HINT, 'rbd:write_bps_limit': '1M', 'rbd:iops_burst': '300'}
        )
        wanted = {**_HINT, 'rbd:write_bps_limit': 1 << 20}
        self.assertEqual(wanted, self._wanted(volume))
        self.assertIn('rbd:iops_burst (set without', self.log.output)

    def test_accepted_value_is_kept_if_tenants_may_not_set_it_now(
        self,
    ) -> None:
        specs = self.make_type(rbd_tenant_options='')
        volume = self.new_volume(_HINT, volume_type=specs)
        self.assertEqual({}, self._wanted(volume))
        record.accepted(volume.id, _HINT)
        self.assertEqual(_HINT, self._wanted(volume))

    def test_recorded_configuration_is_no_difference(self) -> None:
        volume = self.new_volume(_HINT)
        settings = self.driver.settings
        self.assertEqual(_HINT, self._target(volume).difference(settings))
        record.write(volume.id, *volume_items.configured(_HINT))
        self.assertIsNone(self._target(volume).difference(settings))
        record.configuring(volume.id, {'compression_hint'})
        self.assertEqual(_HINT, self._target(volume).difference(settings))
