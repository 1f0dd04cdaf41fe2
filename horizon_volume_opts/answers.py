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


def reason_of(answer: Mapping[str, Any]) -> str | None:
    """Return Cinder's reason why a volume type has no options, if any.

    :raises InvalidAnswerError: for anything else
    """
    reason = answer.get('reason')
    if reason is not None and not isinstance(reason, str):
        raise InvalidAnswerError("'reason' is not a text")
    return reason


def options_of(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the descriptions of the keys of a supported volume type.

    Keys that the response does not describe cannot be set.

    :raises InvalidAnswerError: for an invalid description
    """
    described = answer.get('options')
    if not isinstance(described, dict):
        raise InvalidAnswerError("'options' is not an object")
    if not isinstance(answer.get('require_whole_stripes'), bool):
        raise InvalidAnswerError("'require_whole_stripes' is not a boolean")
    options: dict[str, dict[str, Any]] = {}
    for option in registry.with_values():
        description = described.get(option.key, _ABSENT)
        problem = _problem(option, json.dumps(description))
        if problem:
            raise InvalidAnswerError(f'{option.key}: {problem}')
        options[option.key] = {**_ABSENT, **_lists(option), **description}
    return options


def limits_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the limits on reads and writes of a volume type.

    They are empty if the type has none, and if the user may not see them.

    :raises InvalidAnswerError: for an invalid description
    """
    described = answer.get('qos_limits')
    if described is None:
        return {}
    try:
        jsonschema.validate(described, published.QOS_LIMITS)
    except jsonschema.ValidationError as error:
        raise InvalidAnswerError(f"'qos_limits': {error.message}") from error
    return dict(described['limits'])


def _lists(option: definitions.Option) -> dict[str, Any]:
    """Return empty lists, which scripts read, for the type of an option."""
    _value, bounds = published.VALUES[option.value_type]
    empty: dict[str, Any] = {'array': [], 'object': {}}
    return {
        name: empty[schema['type']]
        for name, schema in bounds.items()
        if schema.get('type') in empty
    }


# Volume types have few distinct descriptions.
@functools.lru_cache(maxsize=1024)
def _problem(option: definitions.Option, text: str) -> str | None:
    """Return what is wrong with a description; None if it is valid."""
    description = json.loads(text)
    schema = published.option_schema(option)
    unchecked = ('summary', 'type', 'fixed_at_creation')
    required = ['settable']
    if option.value_type in _NUMBERS and (
        isinstance(description, dict) and description.get('settable')
    ):
        required += ['minimum', 'maximum']
    properties = {
        **schema['properties'],
        # Releases can have other origins.
        'default_from': {'type': ['string', 'null']},
    }
    validator = jsonschema.Draft202012Validator(
        {
            'type': 'object',
            'properties': {
                name: each
                for name, each in properties.items()
                if name not in unchecked
            },
            'required': required,
        }
    )
    for error in validator.iter_errors(description):
        part = f'{error.path[0]!r}: ' if error.path else ''
        return f'{part}{error.message}'
    largest = description.get('maximum')
    if largest and description.get('minimum', 1) > largest:
        return "'minimum' is above 'maximum'"
    return None
