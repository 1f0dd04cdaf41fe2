# SPDX-License-Identifier: Apache-2.0

"""Fields of a plan, read and checked one by one."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

import yaml

from rbd_volume_options import errors
from rbd_volume_options import sizes

T = TypeVar('T')

_NAME = 'text of up to 60 printable characters without "=" and "/"'
_TIB = 2**40


def refused(where: str, value: object, reason: str, allowed: str) -> Exception:
    """Return the error for a field.

    :param where: the path of the field in the plan
    """
    return errors.OptionError(where, value, reason, allowed)


def from_yaml(text: str) -> Any:
    """Return the content of a plan.

    :raises OptionError: if it is not YAML
    """
    try:
        return yaml.safe_load(text)
    # Values such as 2026-13-01 and `!!bool a` raise errors of Python.
    except (
        *(yaml.YAMLError, ValueError, LookupError),
        *(AttributeError, RecursionError),
    ) as error:
        raise refused('PLAN', str(error), 'not YAML', 'YAML') from None


class Fields:
    """A mapping of a plan.

    :param where: its path, such as ``runs[0]``
    :param allowed: its keys
    :raises OptionError: if it is not a mapping, or has an unknown key
    """

    def __init__(
        self, where: str, content: Any, allowed: Collection[str]
    ) -> None:
        self.where = where
        if not isinstance(content, Mapping):
            raise refused(where, content, 'not a mapping', ', '.join(allowed))
        for key in content:
            if key not in allowed:
                raise refused(
                    self.path(str(key)),
                    content[key],
                    'unknown key',
                    ', '.join(sorted(allowed)),
                )
        self._values = content

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def path(self, key: str) -> str:
        """Return the path of a key."""
        return f'{self.where}.{key}' if self.where else key

    def raw(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, unchecked."""
        return self._values.get(key, default)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return a mapping, unchecked; an empty one if it is missing.

        :raises OptionError: if it is not a mapping
        """
        value = self._values.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise refused(self.path(key), value, 'not a mapping', 'a mapping')
        return value

    def items(self, key: str) -> Sequence[Any]:
        """Return the items of a list, unchecked; none if it is missing.

        :raises OptionError: if it is not a list
        """
        value = self._values.get(key) or []
        if not isinstance(value, list):
            raise refused(self.path(key), value, 'not a list', 'a list')
        return value

    def text(self, key: str) -> str:
        """Return a text.

        :raises OptionError: if it is missing or not a text
        """
        value = self._values.get(key)
        if not isinstance(value, str) or not value.strip():
            raise refused(self.path(key), value, 'not a text', 'a text')
        return value.strip()

    def name(self, key: str) -> str:
        """Return a name, which identifies something in the results.

        :raises OptionError: if it is missing or not a name
        """
        return name(self.path(key), self._values.get(key))

    def number(
        self, key: str, low: int, high: int, default: int | None = None
    ) -> int:
        """Return a whole number.

        :raises OptionError: if it is missing or out of range
        """
        return number(
            self.path(key), self._values.get(key, default), low, high
        )

    def size(self, key: str) -> int:
        """Return a size in bytes.

        :raises OptionError: if it is missing or not a size
        """
        return size(self.path(key), self._values.get(key))

    def choice(self, key: str, allowed: Collection[str]) -> str:
        """Return one of several values.

        :raises OptionError: for any other value
        """
        return choice(self.path(key), self._values.get(key), allowed)

    def each(
        self, key: str, read: Callable[[str, Any], T], default: Any = None
    ) -> tuple[T, ...]:
        """Return the items of a list, each read by a function.

        :param read: takes the path and the item
        :raises OptionError: if it is missing, empty or not a list
        """
        value = self._values.get(key, default)
        where = self.path(key)
        if not isinstance(value, list) or not value:
            raise refused(where, value, 'not a list', 'a list of values')
        items = tuple(
            read(f'{where}[{place}]', each) for place, each in enumerate(value)
        )
        if len(set(map(repr, items))) < len(items):
            raise refused(where, value, 'duplicate value', 'unique values')
        return items


def name(where: str, value: Any) -> str:
    """Check that a value is a name, and return it.

    :raises OptionError: if it is not a name
    """
    if (
        not isinstance(value, str)
        or not 0 < len(value) <= 60
        or not value.isprintable()
        or set(value) & set('=/')
        or value != value.strip()
    ):
        raise refused(where, value, 'not a name', _NAME)
    return value


def number(where: str, value: Any, low: int, high: int) -> int:
    """Check that a value is a whole number, and return it.

    :raises OptionError: if it is not a number, or out of range
    """
    allowed = f'a whole number from {low} to {high}'
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused(where, value, 'not a whole number', allowed)
    if not low <= value <= high:
        raise refused(where, value, 'out of range', allowed)
    return value


def size(where: str, value: Any) -> int:
    """Return a size in bytes from a value with a unit up to ``T``.

    :raises OptionError: if it is not a size
    """
    text = str(value).removesuffix('iB') if isinstance(value, str) else ''
    if text.endswith('T'):
        whole = sizes.parse_size(where, text.removesuffix('T'))
        return whole * _TIB
    return sizes.parse_size(where, value)


def choice(where: str, value: Any, allowed: Collection[str]) -> str:
    """Check that a value is one of several, and return it.

    :raises OptionError: for any other value
    """
    # YAML parses on and off as booleans. Here they are names.
    if isinstance(value, bool):
        value = 'on' if value else 'off'
    if value not in allowed:
        raise refused(where, value, 'unknown value', ', '.join(allowed))
    return str(value)
