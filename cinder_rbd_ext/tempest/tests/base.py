#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What all tests share: striped volumes, and what was made of them."""

from typing import Any

from tempest import config
from tempest.api.volume import base

from rbd_volume_options import keys
from rbd_volume_options import sizes
from rbd_volume_options import wire

CONF = config.CONF

Record = dict[str, Any]


class RBDVolumeTest(base.BaseVolumeAdminTest):
    """Volumes of a tenant, on back ends with the driver."""

    #: The type of tempest.conf, as an administrator sees it.
    volume_type: Record
    #: Metadata of a striped volume.
    asked: dict[str, str]

    @classmethod
    def skip_checks(cls) -> None:
        """Skip where the cloud hasn't the suite."""
        super().skip_checks()
        if not CONF.service_available.rbd_volume_options:
            raise cls.skipException('RBD volume options are not available')

    @classmethod
    def setup_clients(cls) -> None:
        """Make the client of the extension."""
        super().setup_clients()
        cls.options_client = (
            cls.os_primary.rbd_volume_options_v3.OptionsClient()
        )

    @classmethod
    def resource_setup(cls) -> None:
        """Find the volume type and what volumes are asked to be."""
        super().resource_setup()
        types = cls.admin_volume_types_client
        name = CONF.rbd_volume_options.volume_type or CONF.volume.volume_type
        if name:
            (found,) = (
                each
                for each in types.list_volume_types()['volume_types']
                if each['name'] == name
            )
        else:
            found = types.show_default_volume_type()['volume_type']
        cls.volume_type = found
        options = CONF.rbd_volume_options
        cls.asked = {
            keys.OBJECT_SIZE: options.object_size,
            keys.STRIPE_UNIT: options.stripe_unit,
            keys.STRIPE_COUNT: str(options.stripe_count),
            keys.OBJECT_MAP: 'true',
        }

    # What is asked for

    @classmethod
    def make_type(cls, specs: dict[str, str]) -> str:
        """Make a type like the one that is tested; return its name.

        :param specs: the ``rbd:`` keys that it has in place of that one's
        """
        inherited = {
            key: value
            for key, value in cls.volume_type['extra_specs'].items()
            if not key.startswith(keys.PREFIX)
        }
        made = cls.create_volume_type(extra_specs={**inherited, **specs})
        name: str = made['name']
        return name

    def create_asking(self, asked: dict[str, str], **values: Any) -> str:
        """Make a volume that asks for something; return its id.

        In its metadata, or by a type where tenants may not ask.
        """
        if CONF.rbd_volume_options_feature_enabled.tenant_options:
            values['metadata'] = asked
            values.setdefault('volume_type', self.volume_type['name'])
        else:
            values['volume_type'] = self.make_type(asked)
        ident: str = self.create_volume(**values)['id']
        return ident

    def create_striped(self, **values: Any) -> str:
        """Make a volume with the layout and map of tempest.conf."""
        return self.create_asking(self.asked, **values)

    # What was made

    def attributes(self, volume: str) -> Record:
        """Return the attributes of the extension, without their prefix."""
        shown = self.volumes_client.show_volume(volume)['volume']
        return strip(shown)

    def assert_striped(self, volume: str) -> None:
        """Check that a volume is what ``create_striped`` asks for."""
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
    """Return a volume's attributes of the extension, without the prefix."""
    prefix = f'{wire.ALIAS}:'
    return {
        key.removeprefix(prefix): value
        for key, value in volume.items()
        if key.startswith(prefix)
    }
