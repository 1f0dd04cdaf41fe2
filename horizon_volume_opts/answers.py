# SPDX-License-Identifier: Apache-2.0

"""Validation of a volume type in the response of Cinder's extension.

The response crosses a network and can come from another release. Pages
evaluate it, so an invalid part must be found here. The schema is that of
:mod:`rbd_volume_options.published`, but a part that is missing or unknown is
no error.
"""

from collections.abc import Mapping
import functools
import json
from typing import Any

import jsonschema

from rbd_volume_options import definitions
from rbd_volume_options import published
from rbd_volume_options import registry

_NUMBERS = (definitions.ValueType.SIZE, definitions.ValueType.COUNT)
#: What a key without a description has: nobody may set it.
_ABSENT = {'settable': False, 'default': None, 'default_from': None}


class InvalidAnswerError(ValueError):
    """A part of the response for a volume type that is missing or invalid."""


def options_of(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the descriptions of the keys of a supported volume type.

    Keys that the response does not describe cannot be set.

    :raises InvalidAnswerError: for an invalid description
    """
    _check(
        answer,
        {
            'properties': {
                'options': {'type': 'object'},
                'require_whole_stripes': {'type': 'boolean'},
                'qos_limits': {
                    'oneOf': [{'type': 'null'}, published.QOS_LIMITS]
                },
            },
            'required': ['options', 'require_whole_stripes'],
        },
    )
    options: dict[str, dict[str, Any]] = {}
    for option in registry.with_values():
        description = answer['options'].get(option.key, _ABSENT)
        if problem := _problem(option, json.dumps(description)):
            raise InvalidAnswerError(f'{option.key}: {problem}')
        options[option.key] = {**_ABSENT, **description}
    return options


def _check(answer: Any, schema: Mapping[str, Any]) -> None:
    for error in jsonschema.Draft202012Validator(schema).iter_errors(answer):
        part = f'{error.path[0]!r}: ' if error.path else ''
        raise InvalidAnswerError(f'{part}{error.message}')


# Volume types have few distinct descriptions.
@functools.lru_cache(maxsize=1024)
def _problem(option: definitions.Option, text: str) -> str | None:
    """Return what is wrong with a description; None if it is valid."""
    description = json.loads(text)
    properties = {
        **published.option_schema(option)['properties'],
        # Releases can have other origins.
        'default_from': {'type': ['string', 'null']},
    }
    for unchecked in ('summary', 'type', 'fixed_at_creation'):
        del properties[unchecked]
    required = ['settable']
    if option.value_type in _NUMBERS and (
        isinstance(description, dict) and description.get('settable')
    ):
        required += ['minimum', 'maximum']
    schema = {'properties': properties, 'required': required}
    try:
        _check(description, {'type': 'object', **schema})
    except InvalidAnswerError as error:
        return str(error)
    largest = description.get('maximum')
    if largest and description.get('minimum', 1) > largest:
        return "'minimum' is above 'maximum'"
    return None
