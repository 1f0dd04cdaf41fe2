# SPDX-License-Identifier: Apache-2.0

"""Documents for other programs, derived from the definitions.

These are the JSON schema of the API extension's responses, the schemas of the
attributes of volumes and of the keys themselves, and the metadata definitions
for Glance.
"""

from collections.abc import Mapping
import re
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import registry

Document = dict[str, Any]

_ROUTE = f'/v3/{{project_id}}{definitions.ROUTE}'
#: The header of a response: the driver has compared the image with the keys.
#: An API service without the extension does not send it.
HEADER_COMPARED = 'OpenStack-RBD-Compared'
_TEXT = {'type': 'string'}
_FLAG = {'type': 'boolean'}
# Scripts cannot represent larger numbers exactly.
_POSITIVE = {'type': 'integer', 'minimum': 1, 'maximum': 1 << 53}
_LIMIT = {'type': 'integer', 'minimum': 1}
# Scripts list the powers of two between two sizes.
_POWER_OF_TWO = {'enum': [layout.MIN_STRIPE_UNIT << n for n in range(17)]}
_WORDS = {'type': 'array', 'items': _TEXT, 'uniqueItems': True}

#: The value of each type in responses, and the bounds that go with it.
VALUES: dict[definitions.ValueType, tuple[Document, Document]] = {
    definitions.ValueType.SIZE: (
        _POSITIVE,
        {
            'power_of_two': {'const': True},
            'minimum': _POWER_OF_TWO,
            'maximum': _POWER_OF_TWO,
        },
    ),
    definitions.ValueType.COUNT: (
        _POSITIVE,
        {'minimum': _POSITIVE, 'maximum': _POSITIVE},
    ),
    definitions.ValueType.BOOLEAN: (
        _FLAG,
        {'allowed': {'type': 'array', 'items': _FLAG}},
    ),
    definitions.ValueType.FEATURES: (
        _WORDS,
        {
            'allowed': _WORDS,
            'required': _WORDS,
            'requires': {'type': 'object', 'additionalProperties': _WORDS},
        },
    ),
    definitions.ValueType.WORD: (_TEXT, {'allowed': _WORDS}),
    definitions.ValueType.POOL: (_TEXT, {}),
}
_OPTIONAL: dict[definitions.ValueType, Document] = {
    definitions.ValueType.SIZE: {
        'maximum_objects': _LIMIT,
        'together_with': _WORDS,
    },
    definitions.ValueType.COUNT: {'together_with': _WORDS},
    definitions.ValueType.POOL: {
        'candidates': {
            'description': (
                'The other pools with the application rbd in the clusters of '
                'all back ends of the type; null if they are not known. '
                'Absent for callers who may not see names of pools.'
            ),
            'oneOf': [{'type': 'null'}, _WORDS],
        }
    },
}


def _or_null(schema: Document) -> Document:
    return {'oneOf': [{'type': 'null'}, schema]}


def option_schema(option: definitions.Option) -> Document:
    """Return the JSON schema of an option in the description of a type."""
    value, bounds = VALUES[option.value_type]
    settable: Document = {
        'type': 'boolean',
        'description': (
            'Whether the caller may set the key in the metadata of a volume '
            'of the type.'
        ),
    }
    if keys.Scope.VOLUME not in option.scopes:
        settable = {'const': False}
    required = {
        'summary': _TEXT,
        'type': {'const': option.value_type.value},
        'settable': settable,
        'fixed_at_creation': {'const': option.fixed},
        'default': _or_null(value),
        'default_from': {
            'enum': [
                errors.Origin.VOLUME_TYPE.label,
                errors.Origin.BACKEND.label,
                errors.Origin.CLUSTER.label,
                None,
            ]
        },
        **bounds,
    }
    return {
        'type': 'object',
        'description': str(option.summary),
        'properties': {
            **required,
            **dict.fromkeys(option.rules, _POSITIVE),
            **_OPTIONAL.get(option.value_type, {}),
        },
        'required': list(required),
        'additionalProperties': False,
    }


# The names that Cinder's RBD driver or Nova's libvirt driver reads. QoS specs
# can have other entries, which are not for tenants.
_QOS_LIMIT = '(total|read|write)_(iops|bytes)_sec(_max|_per_gb|_per_gb_min)?'

#: The limits of a volume type by QoS specs.
QOS_LIMITS: Document = {
    'type': 'object',
    'properties': {
        'consumer': {'enum': ['back-end', 'front-end', 'both']},
        'limits': {
            'type': 'object',
            'minProperties': 1,
            'propertyNames': {'pattern': f'^{_QOS_LIMIT}$'},
            'additionalProperties': _TEXT,
        },
    },
    'required': ['consumer', 'limits'],
    'additionalProperties': False,
}


def qos_limits(consumer: str, specs: Mapping[str, Any]) -> Document | None:
    """Return the limits in QoS specs, as :data:`QOS_LIMITS`, or None."""
    limits = {
        name: value
        for name, value in sorted(specs.items())
        if re.fullmatch(_QOS_LIMIT, name) and value is not None
    }
    return {'consumer': consumer, 'limits': limits} if limits else None


def volume_type_schema() -> Document:
    """Return the JSON schema of a volume type in responses."""
    options = {
        option.key: option_schema(option) for option in registry.with_values()
    }
    return {
        'type': 'object',
        'properties': {
            'id': {'type': 'string', 'format': 'uuid'},
            'name': _TEXT,
            'supported': {
                'type': 'boolean',
                'description': (
                    'Whether every back end that the type may use supports '
                    'RBD volume options.'
                ),
            },
            'reason': {
                'type': ['string', 'null'],
                'description': (
                    'Why the type is not supported; null if it is.'
                ),
            },
            'require_whole_stripes': {
                'type': 'boolean',
                'description': (
                    'Whether the size of a striped volume must be a multiple '
                    'of stripe unit x stripe count.'
                ),
            },
            'qos_limits': {
                'description': (
                    'The limits on reads and writes of the QoS specs that are '
                    'associated with the type; null without limits. Absent '
                    'for callers who may not see them.'
                ),
                **_or_null(QOS_LIMITS),
            },
            'options': {
                'type': 'object',
                'properties': options,
                'additionalProperties': False,
            },
        },
        'required': ['id', 'name', 'supported', 'reason', 'options'],
        'additionalProperties': False,
        'if': {'properties': {'supported': {'const': True}}},
        'then': {
            'required': ['require_whole_stripes'],
            'properties': {
                'reason': {'type': 'null'},
                'options': {'required': list(options)},
            },
        },
        'else': {
            'properties': {
                'reason': _TEXT,
                'options': {'maxProperties': 0},
            }
        },
    }


def response_schema() -> Document:
    """Return the JSON schema of the responses of the API extension."""
    volume_type = {'$ref': '#/$defs/volume_type'}
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': 'RBD volume options of volume types',
        'description': (
            f'Responses of GET {_ROUTE} (all volume types that the caller can '
            f'see) and of GET {_ROUTE}/{{volume_type}} (one of them). A '
            'default is null if back ends differ, if the configuration of '
            'Ceph decides and is not reported, or, for a stripe unit and a '
            'stripe count with default_from, if volumes are not striped.'
        ),
        'oneOf': [
            {
                'type': 'object',
                'properties': {
                    'volume_types': {'type': 'array', 'items': volume_type}
                },
                'required': ['volume_types'],
                'additionalProperties': False,
            },
            {
                'type': 'object',
                'properties': {'volume_type': volume_type},
                'required': ['volume_type'],
                'additionalProperties': False,
            },
        ],
        '$defs': {'volume_type': volume_type_schema()},
    }


def attribute_schemas() -> dict[str, Document]:
    """Return the schema of each attribute of a volume that shows an option."""
    schemas: dict[str, Document] = {}
    for option in registry.OPTIONS.values():
        if option.attribute:
            value = _or_null(VALUES[option.value_type][0])
            if option.kind is definitions.Kind.CONNECTION:
                value = {'type': 'object', 'additionalProperties': value}
            if option.is_item:
                schema = schemas.setdefault(
                    option.attribute,
                    {
                        'type': 'object',
                        'properties': {},
                        'additionalProperties': False,
                    },
                )
                schema['properties'][option.name] = value
                continue
            schemas[option.attribute] = value
    return schemas


#: How a form writes a value of each type. Cinder accepts more spellings.
_SPELLED: dict[definitions.ValueType, Document] = {
    definitions.ValueType.SIZE: {'pattern': '^[1-9][0-9]*[KMG]?$'},
    definitions.ValueType.COUNT: {'pattern': '^[1-9][0-9]*$'},
    definitions.ValueType.BOOLEAN: {'enum': ['true', 'false']},
    definitions.ValueType.FEATURES: {'pattern': '^[a-z-]+(,[a-z-]+)*$'},
    definitions.ValueType.KEYS: {'pattern': '^([a-z:_]+(,[a-z:_]+)*)?$'},
}


def _key_schema(option: definitions.Option) -> Document:
    schema = {
        'type': 'string',
        'title': str(option.title),
        'description': option.description,
        **_SPELLED.get(option.value_type, {}),
    }
    if option.choices:
        schema['enum'] = list(option.choices)
    if option.suggestions and 'enum' not in schema:
        schema['examples'] = [
            text.removesuffix('iB') for text in option.suggestions
        ]
    if option.takes_effect:
        schema['x-takes-effect'] = option.takes_effect
    return {**schema, 'x-fixed-at-creation': option.fixed}


def _keys_schema(scope: keys.Scope) -> Document:
    options = [x for x in registry.OPTIONS.values() if scope in x.scopes]
    return {
        'type': 'object',
        'properties': {option.key: _key_schema(option) for option in options},
        'dependentRequired': {
            option.key: [option.partner]
            for option in options
            if option.partner
        },
        'propertyNames': {
            'anyOf': [
                {'enum': [option.key for option in options]},
                {'not': {'pattern': f'^{keys.PREFIX}'}},
            ]
        },
        'additionalProperties': _TEXT,
    }


def keys_schema() -> Document:
    """Return the JSON schema of the keys, for programs that make forms.

    It accepts what the rules of each key accept, without the limits of a
    volume type, and only one spelling of each value.
    """
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': 'RBD volume options',
        'description': (
            'Keys in the metadata of a volume and in the extra specs of a '
            'volume type. The limits of each volume type are in the '
            f'responses of GET {_ROUTE}.'
        ),
        '$defs': {
            'volume_metadata': _keys_schema(keys.Scope.VOLUME),
            'extra_specs': _keys_schema(keys.Scope.TYPE),
        },
        '$ref': '#/$defs/volume_metadata',
    }


def metadefs() -> Document:
    """Return the metadata definitions for Glance."""
    return {
        'namespace': 'OS::Cinder::RBDVolumeOptions',
        'display_name': 'RBD volume options',
        'description': (
            'Layout, image features and cache mode of volumes on Ceph RBD. '
            'The API of Cinder shows the options that a tenant may set on '
            'volumes of each type, with their limits (GET '
            f'{definitions.ROUTE}).'
        ),
        'visibility': 'public',
        'protected': True,
        'resource_type_associations': [
            {
                'name': f'OS::Cinder::{name}',
                'prefix': keys.PREFIX,
                'properties_target': target,
            }
            for name, target in (
                ('Volume', 'metadata'),
                ('VolumeType', 'extra_specs'),
            )
        ],
        'properties': {
            option.name: _metadef(option)
            for option in registry.OPTIONS.values()
        },
    }


def _metadef(option: definitions.Option) -> Document:
    words = [option.description]
    if keys.Scope.VOLUME in option.scopes:
        words.append(
            'Fixed at creation of the volume.'
            if option.fixed
            else f'Takes effect {option.takes_effect}; can be changed.'
        )
    document: Document = {
        'title': str(option.title),
        'description': ' '.join(words),
        'type': 'string',
    }
    choices = list(option.choices)
    if option.value_type is definitions.ValueType.BOOLEAN:
        choices = ['true', 'false']
    if choices:
        document['enum'] = choices
    return document
