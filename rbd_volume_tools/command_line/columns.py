# SPDX-License-Identifier: Apache-2.0

"""Values of tables: text for people, raw values for programs."""

import argparse
from typing import Any

from cliff import columns
from cliff import lister
from osc_lib.cli import format_columns

from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import sizes
from rbd_volume_tools.command_line import printable

RATE = 'bytes per second'
#: The keys whose values are bytes per second.
RATES = frozenset(
    option.key for option in registry.OPTIONS.values() if option.is_rate
)
#: The keys whose values are sizes in bytes.
SIZES = frozenset({keys.OBJECT_SIZE, keys.STRIPE_UNIT})


class Unset(columns.FormattableColumn):  # type: ignore[type-arg,unused-ignore]
    """No value. Python's None would look like a cache mode in a table."""

    def human_readable(self) -> str:
        return ''


class HostDecides(columns.FormattableColumn):  # type: ignore[type-arg,unused-ignore]
    """No value of an attachment."""

    def human_readable(self) -> str:
        return 'default of the compute host'


class Size(columns.FormattableColumn):  # type: ignore[type-arg,unused-ignore]
    """A size in bytes, such as ``4 MiB``."""

    def human_readable(self) -> str:
        return sizes.format_size(self._value)


def rate(value: int) -> str:
    """Return a number of bytes per second, such as ``4 MiB/s``."""
    return f'{sizes.format_size(value)}/s'


class Rate(columns.FormattableColumn):  # type: ignore[type-arg,unused-ignore]
    """A number of bytes per second."""

    def human_readable(self) -> str:
        return rate(self._value)


class Allowed(columns.FormattableColumn):  # type: ignore[type-arg,unused-ignore]
    """The values that are allowed for a key, from the answer of the API."""

    def human_readable(self) -> str:
        option = self._value
        if 'allowed' in option:
            texts = [
                str(each).lower() if isinstance(each, bool) else str(each)
                for each in option['allowed']
            ]
            return ', '.join(texts) or 'nothing'
        low, high = option['minimum'], option['maximum']
        if option['type'] == 'size':
            low, high = sizes.format_size(low), sizes.format_size(high)
            return f'power of two, {low} to {high}'
        if option['type'] == RATE:
            low, high = rate(low), rate(high)
        return f'{low} to {high}'


def allowed(option: dict[str, Any], key: str = '') -> Any:
    """Return the column of the allowed values of a key of a type."""
    names = ('allowed', 'minimum', 'maximum')
    limits = {name: option[name] for name in names if name in option}
    if not limits:
        return Unset(None)
    kind = RATE if key in RATES else option['type']
    return Allowed(printable.value({'type': kind, **limits}))


def words(column: Any) -> str:
    """Return a column as a person reads it."""
    if isinstance(column, columns.FormattableColumn):
        return str(column.human_readable())
    if isinstance(column, bool):
        return str(column).lower()
    return str(column)


def value(raw: Any, key: str = '') -> Any:
    """Return a value as a column, with unprintable characters escaped.

    :param key: the key that has the value
    """
    shown = printable.value(raw)
    if shown is None:
        return Unset(None)
    if isinstance(shown, int) and key in SIZES:
        return Size(shown)
    if isinstance(shown, int) and key in RATES:
        return Rate(shown)
    if isinstance(shown, list):
        return format_columns.ListColumn(shown)
    if isinstance(shown, dict):
        return format_columns.DictColumn(shown)
    return shown


def row(*values: Any) -> tuple[Any, ...]:
    """Return values without a key as columns."""
    return tuple(value(each) for each in values)


class SafeCells(lister.Lister):
    """A list whose cells are escaped, and are no formulas in CSV."""

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Any, data: Any
    ) -> int:
        """Show the rows."""
        rows = [row(*each) for each in data]
        if parsed_args.formatter == 'csv':
            rows = [tuple(map(_cell, each)) for each in rows]
        status: int = super().produce_output(parsed_args, column_names, rows)
        return status


def _cell(shown: Any) -> Any:
    if isinstance(shown, columns.FormattableColumn):
        shown = shown.machine_readable()
    return printable.cell(shown)
