# SPDX-License-Identifier: Apache-2.0

"""The limits on reads and writes of a volume type, as text."""

from collections.abc import Mapping
import re
from typing import Any

from django.utils import formats
from django.utils.translation import gettext_lazy as _

from rbd_volume_options import sizes

_KNOWN = re.compile(
    '(total|read|write)_(iops|bytes)_sec(_max|_per_gb(?:_min|_max)?)?'
)
_TEXTS: dict[str, Any] = {
    'total_iops': _('%(number)s operations per second'),
    'read_iops': _('%(number)s reads per second'),
    'write_iops': _('%(number)s writes per second'),
    'total_bytes': _('%(number)s per second'),
    'read_bytes': _('%(number)s per second for reads'),
    'write_bytes': _('%(number)s per second for writes'),
}
_QUALIFIED: dict[str | None, Any] = {
    '_max': _('%(limit)s for a short time'),
    '_per_gb': _('%(limit)s for each GiB of the volume'),
    '_per_gb_min': _('at least %(limit)s'),
    #: Not a name of QoS specs.
    '_per_gb_max': _('at most %(limit)s'),
}
_DECIMAL = ((10**9, 'GB'), (10**6, 'MB'), (10**3, 'kB'))


def name_of(limited: str, qualifier: str) -> str:
    """Return the name in QoS specs of what one of our limits is about."""
    name = limited.replace('bps', 'bytes')
    return f'{name if "_" in name else f"total_{name}"}_sec{qualifier}'


def text(limits: Mapping[str, str]) -> str:
    """Return the limits in the user's language; empty without any.

    :param limits: values by the names of Cinder's QoS specs. Unknown names
        are ignored.
    """
    return ', '.join(
        _one(limit, value)
        for name, value in limits.items()
        if (limit := _KNOWN.fullmatch(name))
    )


def _one(name: re.Match[str], value: str) -> str:
    of, unit, qualifier = name.groups()
    limit = str(
        _TEXTS[f'{of}_{unit}'] % {'number': amount(value, unit == 'bytes')}
    )
    if qualifier is None:
        return limit
    return str(_QUALIFIED[qualifier] % {'limit': limit})


def amount(value: str, is_size: bool) -> str:
    """Return a number or a size, which can be binary or decimal."""
    if not (value.isascii() and value.isdigit()):
        return value
    number = int(value)
    if not is_size:
        return str(formats.number_format(number, force_grouping=True))
    if number and number % sizes.KIB:
        for factor, name in _DECIMAL:
            if number % factor == 0:
                return f'{number // factor} {name}'
    return sizes.format_size(number)
