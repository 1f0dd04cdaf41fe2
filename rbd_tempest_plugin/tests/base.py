# SPDX-License-Identifier: Apache-2.0

"""Base class of all tests, with striped volumes and their attributes."""

from typing import Any

from tempest import config
from tempest.api.volume import base

from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import sizes

CONF = config.CONF

Record = dict[str, Any]


class RBDVolumeTest(base.BaseVolumeAdminTest):
    """Tests of a tenant's volumes on back ends with the driver."""

    #: The volume type from tempest.conf, as visible to an administrator.
    volume_type: Record
    #: Metadata of a striped volume.
    asked: dict[str, str]

    @classmethod
    def skip_checks(cls) -> None:
        """Skip if the suite is not installed in the cloud."""
        super().skip_checks()
        if not CONF.service_available.rbd_volume_options:
            raise cls.skipException('RBD volume options are not available')

    @classmethod
    def setup_clients(cls) -> None:
        """Create the client of the API extension."""
        super().setup_clients()
        cls.options_client = (
            cls.os_primary.rbd_volume_options_v3.OptionsClient()
        )

    @classmethod
    def resource_setup(cls) -> None:
        """Find the volume type and the keys of striped volumes."""
        super().resource_setup()
        types = cls.admin_volume_types_client
        name = CONF.rbd_volume_options.volume_type or CONF.volume.volume_type
        if name:
            (volume_type,) = (
                each
                for each in types.list_volume_types()['volume_types']
                if each['name'] == name
            )
        else:
            volume_type = types.show_default_volume_type()['volume_type']
        cls.volume_type = volume_type
        options = CONF.rbd_volume_options
        cls.asked = {
            keys.OBJECT_SIZE: options.object_size,
            keys.STRIPE_UNIT: options.stripe_unit,
            keys.STRIPE_COUNT: str(options.stripe_count),
            keys.OBJECT_MAP: 'true',
        }

    # Requests

    @classmethod
    def make_type(cls, specs: dict[str, str]) -> str:
        """Create a type like the tested one and return its name.

        :param specs: the ``rbd:`` keys that replace those of the tested type
        """
        inherited = {
            key: value
            for key, value in cls.volume_type['extra_specs'].items()
            if not key.startswith(keys.PREFIX)
        }
        made = cls.create_volume_type(extra_specs={**inherited, **specs})
        name: str = made['name']
        return name

    def create_asking(self, items: dict[str, str], **values: Any) -> str:
        """Create a volume with requested options and return its id.

        The options are in its metadata, or in a new type if tenants may not
        set them.
        """
        if CONF.rbd_volume_options_feature_enabled.tenant_options:
            values['metadata'] = items
            values.setdefault('volume_type', self.volume_type['name'])
        else:
            values['volume_type'] = self.make_type(items)
        ident: str = self.create_volume(**values)['id']
        return ident

    def create_striped(self, **values: Any) -> str:
        """Create a volume with tempest.conf's layout and an object map."""
        return self.create_asking(self.asked, **values)

    # Results

    def attributes(self, volume: str) -> Record:
        """Return the attributes of a volume from the API extension."""
        shown = self.volumes_client.show_volume(volume)['volume']
        return strip(shown)

    def assert_striped(self, volume: str) -> None:
        """Check that a volume has what ``create_striped`` requests."""
        made = self.attributes(volume)
        options = CONF.rbd_volume_options
        self.assertEqual(
            {
                'object_size': sizes.parse_size(
                    keys.OBJECT_SIZE, options.object_size
                ),
                'stripe_unit': sizes.parse_size(
                    keys.STRIPE_UNIT, options.stripe_unit
                ),
                'stripe_count': options.stripe_count,
            },
            {
                name: made[name]
                for name in ('object_size', 'stripe_unit', 'stripe_count')
            },
        )
        self.assertIn('object-map', made['features'])


def strip(volume: Record) -> Record:
    """Return the API extension's attributes of a volume, without prefix."""
    prefix = f'{definitions.ALIAS}:'
    return {
        key.removeprefix(prefix): value
        for key, value in volume.items()
        if key.startswith(prefix)
    }
