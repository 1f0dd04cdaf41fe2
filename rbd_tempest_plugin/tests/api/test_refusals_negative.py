# SPDX-License-Identifier: Apache-2.0

"""Invalid requests, which are refused at once and create nothing."""

from typing import Any

from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions
from tempest.lib.common.utils import data_utils

from rbd_tempest_plugin.tests import base
from rbd_volume_options import keys

CONF = config.CONF


class TenantRefusalsTest(base.RBDVolumeTest):
    """Invalid requests of a tenant in the metadata of a new volume."""

    @classmethod
    def skip_checks(cls) -> None:
        """Skip if tenants may not set any keys."""
        super().skip_checks()
        if not CONF.rbd_volume_options_feature_enabled.tenant_options:
            raise cls.skipException('tenants may not set all keys')

    def _refused(self, metadata: dict[str, str], *words: str) -> None:
        """Request a volume; the response is 400 and contains the words."""
        name = data_utils.rand_name(
            self.__class__.__name__, prefix=CONF.resource_name_prefix
        )
        error = self.assertRaises(
            exceptions.BadRequest,
            self.volumes_client.create_volume,
            name=name,
            size=CONF.volume.volume_size,
            volume_type=self.volume_type['name'],
            metadata=metadata,
        )
        for word in words:
            self.assertIn(word, str(error))
        listed = self.volumes_client.list_volumes(params={'name': name})
        self.assertEqual([], listed['volumes'])

    @decorators.attr(type=['negative', 'smoke'])
    @decorators.idempotent_id('8224c5e1-4be4-4170-8c02-10d100c71fa3')
    def test_unknown_key(self) -> None:
        """An unknown ``rbd:`` key is refused and never ignored."""
        self._refused({'rbd:stripes': '8'}, 'rbd:stripes', 'unknown key')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('fa5563fc-ba3d-4c67-a971-4a8174128557')
    def test_object_size_no_power_of_two(self) -> None:
        """The response names the key, the value and what is allowed."""
        self._refused(
            {keys.OBJECT_SIZE: '3M'},
            keys.OBJECT_SIZE,
            '3M',
            'a power of two from 4 KiB to 32 MiB',
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('7f813bf8-6cfe-45f8-8b13-ba280a3f1daa')
    def test_object_size_out_of_range(self) -> None:
        """An object size over librbd's maximum is refused."""
        self._refused({keys.OBJECT_SIZE: '64M'}, 'out of range')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('ed8c11ff-b2ac-4be7-bea4-c4fc1bbfc6b7')
    def test_stripe_unit_alone(self) -> None:
        """A stripe unit requires a stripe count."""
        self._refused({keys.STRIPE_UNIT: '64K'}, keys.STRIPE_COUNT)

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('a2745834-bec2-4a31-a1ad-7a05216254c5')
    def test_stripe_unit_larger_than_objects(self) -> None:
        """A stripe unit must divide the object size."""
        self._refused(
            {**self.asked, keys.OBJECT_SIZE: '64K', keys.STRIPE_UNIT: '1M'},
            'not a factor of the object size',
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('277f4ad4-c1dd-419d-a546-53177a221e9c')
    def test_stripe_count_over_the_limit(self) -> None:
        """The response shows the limit of the back end."""
        told = self.options_client.show_options(self.volume_type['name'])
        count = told['volume_type']['options'][keys.STRIPE_COUNT]
        metadata = {
            **self.asked,
            keys.STRIPE_COUNT: str(count['maximum'] + 1),
        }
        self._refused(metadata, keys.STRIPE_COUNT, str(count['maximum']))

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('33d0638b-b258-447f-b925-3062715918a3')
    def test_size_of_no_whole_stripes(self) -> None:
        """A size must be whole stripes if the back end requires that."""
        told = self.options_client.show_options(self.volume_type['name'])
        if not told['volume_type']['require_whole_stripes']:
            raise self.skipException('whole stripes are not required')
        if CONF.volume.volume_size % 3 == 0:
            raise self.skipException('volume_size is a multiple of three')
        metadata = {**self.asked, keys.STRIPE_COUNT: '3'}
        self._refused(metadata, 'not a multiple of')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('1891e311-a320-4f38-ba44-4e316ed19fc6')
    def test_missing_prerequisite(self) -> None:
        """The response names the missing feature."""
        self._refused({keys.FEATURES: 'layering,object-map'}, 'exclusive-lock')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('8ddb42d2-dae4-476f-b269-3a047c4f14be')
    def test_object_map_contradicts_features_without_it(self) -> None:
        """An object map contradicts a set of features without it."""
        self._refused(
            {keys.FEATURES: 'layering', keys.OBJECT_MAP: 'true'},
            'contradicts',
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('3b4a0409-fb2a-4ca3-90e0-f88a7d140c60')
    def test_no_cache_mode(self) -> None:
        """The response lists the cache modes."""
        self._refused({keys.CACHE_MODE: 'fast'}, 'writethrough')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('1c1a0fab-e762-4cf2-8b61-a83fb7d44f45')
    def test_key_of_administrators(self) -> None:
        """Tenants may not set the data pool."""
        self._refused({keys.DATA_POOL: 'pool'}, keys.DATA_POOL)


class ChangeRefusalsTest(base.RBDVolumeTest):
    """Invalid changes of an existing volume."""

    @classmethod
    def skip_checks(cls) -> None:
        """Skip if tenants may not set any keys."""
        super().skip_checks()
        if not CONF.rbd_volume_options_feature_enabled.tenant_options:
            raise cls.skipException('tenants may not set all keys')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('d930e50b-7159-4717-96e9-7ad7b5a30335')
    def test_settled_at_creation(self) -> None:
        """Fixed keys cannot be changed or removed."""
        volume = self.create_striped()
        change = {keys.OBJECT_SIZE: '2M'}
        client = self.volumes_client
        self.assertRaises(
            exceptions.BadRequest,
            client.create_volume_metadata,
            volume,
            change,
        )
        self.assertRaises(
            exceptions.BadRequest, client.update_volume_metadata, volume, {}
        )
        self.assertRaises(
            exceptions.BadRequest,
            client.delete_volume_metadata_item,
            volume,
            keys.OBJECT_SIZE,
        )
        shown = client.show_volume_metadata(volume)['metadata']
        self.assertEqual(self.asked, shown)

    @decorators.idempotent_id('541e7ae9-769e-4cc6-ba44-38244cb0496f')
    def test_cache_mode_can_be_changed(self) -> None:
        """The cache mode can be changed for the next attachment."""
        volume = self.create_asking({keys.CACHE_MODE: 'none'})
        self.volumes_client.create_volume_metadata(
            volume, {keys.CACHE_MODE: 'writeback'}
        )
        shown = self.volumes_client.show_volume_metadata(volume)['metadata']
        self.assertEqual('writeback', shown[keys.CACHE_MODE])

    @decorators.idempotent_id('d3eb8104-4fec-4598-b3bd-dbb8483d0dbe')
    def test_other_metadata_is_free(self) -> None:
        """Other keys can be set and removed."""
        volume = self.create_striped()
        client = self.volumes_client
        client.create_volume_metadata(volume, {'colour': 'blue'})
        client.delete_volume_metadata_item(volume, 'colour')
        shown = client.show_volume_metadata(volume)['metadata']
        self.assertEqual(self.asked, shown)


class TypeRefusalsTest(base.RBDVolumeTest):
    """Invalid requests of an administrator in a type's extra specs."""

    def _refused(self, specs: dict[str, str], *words: str) -> None:
        name = data_utils.rand_name(
            self.__class__.__name__, prefix=CONF.resource_name_prefix
        )
        inherited: dict[str, Any] = self.volume_type['extra_specs']
        error = self.assertRaises(
            exceptions.BadRequest,
            self.admin_volume_types_client.create_volume_type,
            name=name,
            extra_specs={**inherited, **specs},
        )
        for word in words:
            self.assertIn(word, str(error))
        listed = self.admin_volume_types_client.list_volume_types()
        names = {each['name'] for each in listed['volume_types']}
        self.assertNotIn(name, names)

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('65762557-9c40-4505-99dd-f6dc510327f6')
    def test_unknown_key(self) -> None:
        """An unknown ``rbd:`` key is refused."""
        self._refused({'rbd:stripes': '8'}, 'unknown key')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('b2d00168-2204-4aea-bf95-d2415bc76ffa')
    def test_half_a_pair(self) -> None:
        """A stripe count requires a stripe unit."""
        self._refused({keys.STRIPE_COUNT: '8'}, keys.STRIPE_UNIT)

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('34db9c30-c6f6-4ce9-ba30-f815d5b7bf21')
    def test_multiattach_with_an_object_map(self) -> None:
        """Shared volumes have no exclusive lock and thus no object map."""
        self._refused(
            {keys.OBJECT_MAP: 'true', 'multiattach': '<is> True'},
            'multi-attach',
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('9d590c2f-3c89-4c67-ba40-d7d6e43c49e6')
    def test_tenants_without_rights(self) -> None:
        """A type can refuse all keys to tenants."""
        name = self.make_type({keys.TENANT_OPTIONS: ''})
        error = self.assertRaises(
            exceptions.BadRequest,
            self.volumes_client.create_volume,
            size=CONF.volume.volume_size,
            volume_type=name,
            metadata={keys.OBJECT_MAP: 'true'},
        )
        self.assertIn('tenants may not set this key', str(error))


class ExtendRefusalsTest(base.RBDVolumeTest):
    """A refused size leaves the volume as it is."""

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('fd492b20-3ae7-43d8-9df7-03613f7aa4b1')
    def test_extend_to_no_whole_stripes(self) -> None:
        """The volume keeps its size."""
        told = self.options_client.show_options(self.volume_type['name'])
        if not told['volume_type']['require_whole_stripes']:
            raise self.skipException('whole stripes are not required')
        metadata = {
            **self.asked,
            keys.STRIPE_UNIT: '1M',
            keys.STRIPE_COUNT: '3',
        }
        volume = self.create_asking(metadata, size=3)
        error = self.assertRaises(
            exceptions.BadRequest,
            self.volumes_client.extend_volume,
            volume,
            new_size=4,
        )
        self.assertIn('not a multiple', str(error))
        shown = self.volumes_client.show_volume(volume)['volume']
        self.assertEqual((3, 'available'), (shown['size'], shown['status']))
