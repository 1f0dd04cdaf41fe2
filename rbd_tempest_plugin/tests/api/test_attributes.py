# SPDX-License-Identifier: Apache-2.0

"""Attributes of volumes."""

from tempest import config
from tempest.lib import decorators

from rbd_tempest_plugin import schemas
from rbd_tempest_plugin.tests import base

CONF = config.CONF


class AttributesTest(base.RBDVolumeTest):
    """Attributes of the API extension, and the metadata of the tenant."""

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('5d820577-e776-4796-8209-b33891d8b30c')
    def test_show_and_detailed_list_agree(self) -> None:
        """Both contain all attributes."""
        volume = self.create_striped()
        shown = self.volumes_client.show_volume(volume)['volume']
        listed = self.volumes_client.list_volumes(detail=True)['volumes']
        (row,) = (each for each in listed if each['id'] == volume)
        for name in schemas.ATTRIBUTES:
            self.assertIn(name, shown)
            self.assertEqual(shown[name], row[name])
        self.assertEqual({}, self.attributes(volume)['cache_modes'])

    @decorators.idempotent_id('9d0fc517-aa22-4d03-baa1-f789edf5cd0b')
    def test_request_stays_as_written(self) -> None:
        """The metadata of a volume contains only what its tenant wrote."""
        volume = self.create_striped()
        metadata = self.volumes_client.show_volume_metadata(volume)
        wanted = (
            self.asked
            if CONF.rbd_volume_options_feature_enabled.tenant_options
            else {}
        )
        self.assertEqual(wanted, metadata['metadata'])

    @decorators.idempotent_id('3418847d-2d0d-418d-a16b-7250992b86d6')
    def test_not_in_a_short_list(self) -> None:
        """A list without details contains none of them."""
        volume = self.create_striped()
        listed = self.volumes_client.list_volumes()['volumes']
        (row,) = (each for each in listed if each['id'] == volume)
        self.assertEqual({}, base.strip(row))


class AttributesV370Test(base.RBDVolumeTest):
    """Attributes in responses of microversion 3.70."""

    volume_min_microversion = '3.70'

    @decorators.idempotent_id('5a0f3f55-40f4-4b5e-9c39-31a4a2cf3a5e')
    def test_attributes_do_not_depend_on_microversion(self) -> None:
        """The attributes do not depend on the microversion."""
        volume = self.create_striped()
        self.assert_striped(volume)
        rows = self.volumes_client.list_volumes(detail=True)['volumes']
        (listed,) = (each for each in rows if each['id'] == volume)
        self.assertEqual(self.attributes(volume), base.strip(listed))
