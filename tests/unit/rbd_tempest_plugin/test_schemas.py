# SPDX-License-Identifier: Apache-2.0

import copy
from typing import Any

import jsonschema
from tempest.lib.services.volume.v3 import volumes_client

from cinder_rbd_ext.api import attributes
from rbd_tempest_plugin import schemas
from tests.unit import base

_VERSIONS = volumes_client.VolumesClient.schema_versions_info

_MADE: dict[str, Any] = {
    'os-rbd-volume-options:object_size': 2**20,
    'os-rbd-volume-options:stripe_unit': 65536,
    'os-rbd-volume-options:stripe_count': 8,
    'os-rbd-volume-options:features': ['layering'],
    'os-rbd-volume-options:data_pool': None,
    'os-rbd-volume-options:origins': {'features': 'volume type'},
    'os-rbd-volume-options:cache_modes': {'an-id': 'writeback', 'b': None},
    'os-rbd-volume-options:refused': 'not a power of two',
    'os-rbd-volume-options:attach_refused': {'host': 'compute1'},
}


class _Volume:
    """A volume without a record and without attachments."""

    volume_attachment: tuple[Any, ...] = ()
    cluster_name: str | None = None
    host: str | None = None
    name_id: str = ''
    provider_id: str | None = None
    replication_extended_status: str | None = None

    def obj_attr_is_set(self, name: str) -> bool:
        return False


class SchemasTest(base.TestCase):
    """Tests on Tempest's own schemas, which are restored afterwards."""

    def setUp(self) -> None:
        super().setUp()
        for schema in schemas._volumes():
            before = copy.deepcopy(schema['properties'])
            self.addCleanup(schema.__setitem__, 'properties', before)

    def _refused(self, schema: Any, volume: dict[str, Any]) -> bool:
        """Whether the schema rejects a volume's attributes."""
        optional = {**schema, 'required': []}
        return not jsonschema.Draft7Validator(optional).is_valid(volume)

    def test_tempest_refuses_what_it_does_not_know(self) -> None:
        # The reason for the module. If this fails, remove the module.
        for schema in schemas._volumes():
            for name in schemas.ATTRIBUTES:
                schema['properties'].pop(name, None)
            self.assertTrue(self._refused(schema, _MADE))

    def test_our_attributes_are_taken(self) -> None:
        schemas.add_attributes()
        of_volumes = list(schemas._volumes())
        self.assertEqual(2 * len(_VERSIONS), len(of_volumes))
        for schema in of_volumes:
            self.assertFalse(self._refused(schema, _MADE))
            self.assertFalse(self._refused(schema, {}))

    def test_volumes_of_other_drivers(self) -> None:
        schemas.add_attributes()
        volume: Any = _Volume()
        shown = attributes.of_volume(volume)
        self.assertEqual(set(schemas.ATTRIBUTES), set(shown))
        for schema in schemas._volumes():
            self.assertFalse(self._refused(schema, shown))

    def test_other_attributes_are_refused_as_before(self) -> None:
        schemas.add_attributes()
        for schema in schemas._volumes():
            for wrong in (
                {'os-rbd-volume-options:colour': 'blue'},
                {'os-rbd-volume-options:stripe_count': '8'},
                {'os-rbd-volume-options:stripe_count': 0},
                {'os-rbd-volume-options:features': 'layering'},
                {'os-rbd-volume-options:cache_modes': None},
            ):
                self.assertTrue(self._refused(schema, wrong), str(wrong))

    def test_attributes_are_added_once(self) -> None:
        schemas.add_attributes()
        once = [copy.deepcopy(each) for each in schemas._volumes()]
        schemas.add_attributes()
        self.assertEqual(once, list(schemas._volumes()))
