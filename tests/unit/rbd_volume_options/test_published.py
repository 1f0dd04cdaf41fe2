# SPDX-License-Identifier: Apache-2.0

import json

import jsonschema

from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import published
from rbd_volume_options import registry
from rbd_volume_options.families import cache_modes
from tests.unit import base


class PublishedTestCase(base.TestCase):
    def test_schema_of_responses_is_valid_and_refuses_incomplete_ones(
        self,
    ) -> None:
        schema = published.response_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        self.assertFalse(validator.is_valid({'volume_type': {}}))

    def test_metadata_definitions_describe_every_key_and_no_other(
        self,
    ) -> None:
        namespace = published.metadefs()
        names = {f'{keys.PREFIX}{name}' for name in namespace['properties']}
        self.assertEqual(set(registry.OPTIONS), names)

    def test_metadata_definitions_list_choices(self) -> None:
        properties = published.metadefs()['properties']
        self.assertEqual(
            [mode.value for mode in cache_modes.CacheMode],
            properties['cache_mode']['enum'],
        )
        self.assertEqual(['true', 'false'], properties['object_map']['enum'])
        for name in features.CHOOSABLE:
            self.assertIn(name, properties['features']['description'])

    def test_metadata_definitions_are_serializable(self) -> None:
        self.assertTrue(json.dumps(published.metadefs()))

    def _of_keys(self, name: str) -> jsonschema.Draft202012Validator:
        schema = published.keys_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(
            {**schema, '$ref': f'#/$defs/{name}'}
        )

    def test_limits_of_qos_specs_follow_their_schema(self) -> None:
        specs = {
            'write_iops_sec_per_gb_min': '10',
            'total_bytes_sec_max': '1048576',
            'read_iops_sec': None,
            'internal_tier': 'secret',
        }
        limits = published.qos_limits('both', specs)
        jsonschema.validate(limits, published.QOS_LIMITS)
        self.assertEqual(
            {'total_bytes_sec_max', 'write_iops_sec_per_gb_min'},
            set(limits['limits']) if limits else set(),
        )
        self.assertIsNone(published.qos_limits('both', {'tier': 'secret'}))

    def test_schema_of_keys_accepts_what_the_rules_accept(self) -> None:
        volume, extra_specs = map(
            self._of_keys, ('volume_metadata', 'extra_specs')
        )
        for option in registry.OPTIONS.values():
            described = published.keys_schema()['$defs']['extra_specs'][
                'properties'
            ][option.key]
            texts = described.get('enum') or described.get('examples') or []
            for text in texts:
                option.parse(text)
                metadata = {option.key: text}
                if option.partner:
                    metadata[option.partner] = '8'
                self.assertTrue(extra_specs.is_valid(metadata), metadata)
                self.assertEqual(
                    keys.Scope.VOLUME in option.scopes,
                    volume.is_valid(metadata),
                    str(metadata),
                )

    def test_schema_of_keys_refuses_what_no_type_accepts(self) -> None:
        volume = self._of_keys('volume_metadata')
        self.assertTrue(
            volume.is_valid({'mine': 'x', 'rbd:object_map': 'true'})
        )
        for metadata in (
            {'rbd:stripe_unit': '64K'},
            {'rbd:stripe_unit': '64K', 'rbd:stripe_count': 'many'},
            {'rbd:cache_mode': 'wb'},
            {'rbd:stripes': '8'},
            {'rbd:data_pool': 'flash'},
            {'rbd:object_map': True},
        ):
            self.assertFalse(volume.is_valid(metadata), metadata)
