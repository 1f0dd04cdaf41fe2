# SPDX-License-Identifier: Apache-2.0

"""Retypes of volumes."""

from tempest import config
from tempest.common import waiters
from tempest.lib import decorators

from rbd_tempest_plugin.tests import base
from rbd_volume_options import keys

CONF = config.CONF


class RetypeTest(base.RBDVolumeTest):
    """Options are resolved again: the tenant's first, then the new type's."""

    def _retype(self, volume: str, name: str, policy: str) -> None:
        self.admin_volume_client.retype_volume(
            volume, new_type=name, migration_policy=policy
        )
        waiters.wait_for_volume_retype(self.volumes_client, volume, name)
        waiters.wait_for_volume_resource_status(
            self.volumes_client, volume, 'available'
        )

    @decorators.idempotent_id('bb6e07b0-6f18-42bd-a04f-af069dd7a8f1')
    def test_to_an_object_map(self) -> None:
        """Features are enabled in place."""
        plain = self.make_type({keys.FEATURES: 'layering'})
        mapped = self.make_type({keys.OBJECT_MAP: 'true'})
        volume = self.create_volume(volume_type=plain)['id']
        self.assertEqual(['layering'], self.attributes(volume)['features'])
        self._retype(volume, mapped, 'never')
        self.assertIn('object-map', self.attributes(volume)['features'])

    @decorators.idempotent_id('f50c91cc-ea57-45d3-837a-2811a8e341d2')
    def test_to_no_object_map(self) -> None:
        """An object map can be disabled."""
        mapped = self.make_type({keys.OBJECT_MAP: 'true'})
        without = self.make_type({keys.OBJECT_MAP: 'false'})
        volume = self.create_volume(volume_type=mapped)['id']
        self._retype(volume, without, 'never')
        self.assertNotIn('object-map', self.attributes(volume)['features'])

    @decorators.idempotent_id('10e6dbed-cd00-4318-91c3-231fde250a7d')
    def test_to_a_layout_without_migration(self) -> None:
        """A copy replaces the image of a detached volume."""
        plain, striped = self.make_type({}), self.make_type(self.asked)
        volume = self.create_volume(volume_type=plain)['id']
        self._retype(volume, striped, 'never')
        self.assert_striped(volume)

    @decorators.idempotent_id('acef43aa-b54d-4e86-8cce-e23a6a9a9d32')
    def test_to_a_layout_with_migration(self) -> None:
        """A volume gets the layout of its new type if a migration is allowed.

        Cinder migrates the volume only if its image cannot be copied.
        """
        if not CONF.rbd_volume_options_feature_enabled.retype_with_migration:
            raise self.skipException('retype with migration is disabled')
        plain, striped = self.make_type({}), self.make_type(self.asked)
        volume = self.create_volume(volume_type=plain)['id']
        self._retype(volume, striped, 'on-demand')
        self.assert_striped(volume)
