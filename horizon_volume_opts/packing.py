# SPDX-License-Identifier: Apache-2.0

"""Offers of volume types in the form that the pages' scripts receive.

Volume types usually differ in one or two options. Each distinct description
of an option is therefore sent once, and a volume type refers to it by its
number. ``js/offers.js`` reads this form.
"""

from collections.abc import Mapping
import json
from typing import Any

from django.utils import safestring

from horizon_volume_opts import offers
from rbd_volume_options import wire

#: The fields of a description that scripts use.
_FIELDS = (
    wire.SETTABLE,
    'default',
    wire.DEFAULT_FROM,
    'minimum',
    'maximum',
    wire.MAXIMUM_OBJECTS,
    wire.PER_GIB,
    wire.PER_GIB_MINIMUM,
    'allowed',
    'required',
    'requires',
)


class Distinct:
    """A list of values without duplicates; values are JSON data."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """Return the index of a value; add the value if it is new."""
        text = json.dumps(value, sort_keys=True)
        if text not in self._numbers:
            self._numbers[text] = len(self.values)
            self.values.append(value)
        return self._numbers[text]


def packed(
    by_type: Mapping[str, offers.UserOffer], wanted: tuple[str, ...]
) -> dict[str, Any]:
    """Return offers for a script.

    :param by_type: the offers by type name
    :param wanted: the keys that the script uses
    :returns: ``keys``; ``options``, the distinct descriptions; ``types``: the
        reason why a type offers nothing, or whether it requires whole stripes
        and the number of the description of each key; and ``limits``: the
        distinct texts for limits on reads and writes, with the types that
        have them
    """
    options = Distinct()
    types: dict[str, Any] = {}
    limits: dict[str, list[str]] = {}
    for name, offer in by_type.items():
        if limited := offer.limits_in_words():
            limits.setdefault(limited, []).append(name)
        if offer.reason is not None:
            types[name] = offer.reason
            continue
        types[name] = [offer.require_whole_stripes] + [
            options.number(_trimmed(offer.options[key])) for key in wanted
        ]
    data = {'keys': wanted, 'options': options.values, 'types': types}
    return {**data, 'limits': limits} if limits else data


def text(data: Any) -> str:
    """Return JSON without unnecessary spaces."""
    return json.dumps(data, ensure_ascii=False, separators=(',', ':'))


def attribute(data: Any) -> Any:
    """Return JSON as an attribute of an element, with its single quotes.

    JSON has many double quotes. With double quotes around the attribute, each
    of them would take six bytes.

    Angular evaluates what is between its delimiters, {$ and $}, also in
    attributes. Text without autoescaping does not pass Horizon's escape(),
    which replaces them, so dollar signs are escaped here. JSON has them in
    strings only.
    """
    escaped = text(data).replace('$', r'\u0024')
    for character, entity in (('&', '&amp;'), ("'", '&#39;'), ('<', '&lt;')):
        escaped = escaped.replace(character, entity)
    return safestring.mark_safe(f"'{escaped}'")  # noqa: S308 - escaped here


def _trimmed(option: offers.Answer) -> dict[str, Any]:
    return {field: option[field] for field in _FIELDS if field in option}
