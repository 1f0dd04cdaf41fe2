# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Validation of a volume type in the response of Cinder's extension.

The response crosses a network and can come from another release. Pages
evaluate it, so an invalid part must be found here.
"""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import wire

Check = Callable[[Any], bool]


class InvalidAnswerError(ValueError):
    """A part of the response for a volume type that is missing or invalid."""


# Scripts cannot represent larger numbers exactly.
_MAXIMUM = 1 << 53


def _positive(value: Any) -> bool:
    return type(value) is int and 0 < value <= _MAXIMUM


def _limit(value: Any) -> bool:
    return type(value) is int and value > 0


def _size(value: Any) -> bool:
    return _positive(value) and layout.is_power_of_two(value)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _requirements(value: Any) -> bool:
    return isinstance(value, dict) and all(
        map(_list_of(_text), value.values())
    )


#: The fields of each key: for a default, and other fields of the response.
_DEFAULTS: dict[str, Check] = {
    keys.OBJECT_SIZE: _positive,
    keys.STRIPE_UNIT: _positive,
    keys.STRIPE_COUNT: _positive,
    keys.OBJECT_MAP: _flag,
    keys.FEATURES: _list_of(_text),
    keys.CACHE_MODE: _text,
    keys.DATA_POOL: _text,
}
_FIELDS: dict[str, Check] = {
    wire.MAXIMUM_OBJECTS: _limit,
    wire.DEFAULT_FROM: lambda value: value is None or _text(value),
    'required': _list_of(_text),
    'requires': _requirements,
    wire.WRITABLE: lambda value: value is None or _list_of(_text)(value),
}
#: The bounds of keys that are numbers. Scripts list the powers of two between
#: the bounds of a size.
_BOUNDS: dict[str, Check] = {
    keys.OBJECT_SIZE: _size,
    keys.STRIPE_UNIT: _size,
    keys.STRIPE_COUNT: _positive,
}
_ALLOWED: dict[str, Check] = {
    keys.OBJECT_MAP: _list_of(_flag),
    keys.FEATURES: _list_of(_text),
    keys.CACHE_MODE: _list_of(_text),
}
#: What a key without a description has: nobody may set it.
_ABSENT = {wire.SETTABLE: False, 'default': None, wire.DEFAULT_FROM: None}


def reason_of(answer: Mapping[str, Any]) -> str | None:
    """Return Cinder's reason why a volume type has no options, if any.

    :raises InvalidAnswerError: for anything else
    """
    found = answer.get('reason')
    if found is not None and not _text(found):
        raise InvalidAnswerError("'reason' is not a text")
    return found


def options_of(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the descriptions of the keys of a supported volume type.

    Keys that the response does not describe cannot be set.

    :raises InvalidAnswerError: for an invalid description
    """
    given = answer.get('options')
    if not isinstance(given, dict):
        raise InvalidAnswerError("'options' is not an object")
    if not _flag(answer.get(wire.REQUIRE_WHOLE_STRIPES)):
        raise InvalidAnswerError(
            f'{wire.REQUIRE_WHOLE_STRIPES!r} is not a boolean'
        )
    found: dict[str, dict[str, Any]] = {}
    for key, is_default in _DEFAULTS.items():
        option = given.get(key, _ABSENT)
        _check(key, option, is_default)
        found[key] = {**_ABSENT, **_lists(key), **option}
    return found


def limits_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the limits on reads and writes of a volume type.

    They are empty if the type has none, and if the user may not see them.

    :raises InvalidAnswerError: for an invalid description
    """
    given = answer.get(wire.QOS_LIMITS)
    if given is None:
        return {}
    limits = given.get('limits') if isinstance(given, dict) else None
    if not isinstance(limits, dict) or not all(map(_text, limits.values())):
        raise InvalidAnswerError(f'{wire.QOS_LIMITS!r} is invalid')
    return dict(limits)


def _lists(key: str) -> dict[str, Any]:
    lists: dict[str, Any] = {'allowed': []} if key in _ALLOWED else {}
    if key == keys.FEATURES:
        lists.update(required=[], requires={})
    return lists


def _check(key: str, option: Any, is_default: Check) -> None:
    if not isinstance(option, Mapping) or not _flag(option.get(wire.SETTABLE)):
        raise InvalidAnswerError(f'{key} does not have {wire.SETTABLE!r}')
    default = option.get('default')
    if default is not None and not is_default(default):
        raise InvalidAnswerError(f'{key} has an invalid default')
    checks = dict(_FIELDS)
    if key in _ALLOWED:
        checks['allowed'] = _ALLOWED[key]
    for name, check in checks.items():
        if name in option and not check(option[name]):
            raise InvalidAnswerError(f'{key} has an invalid {name!r}')
    if key in _BOUNDS:
        _check_bounds(key, option)


def _check_bounds(key: str, option: Mapping[str, Any]) -> None:
    for name in ('minimum', 'maximum'):
        if name not in option and not option[wire.SETTABLE]:
            continue
        if not _BOUNDS[key](option.get(name)):
            raise InvalidAnswerError(f'{key} has an invalid {name!r}')
    if option.get('minimum', 1) > option.get('maximum', _MAXIMUM):
        raise InvalidAnswerError(f"{key} has a 'minimum' above its 'maximum'")
