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

"""Help for operators about each key of a volume type."""

from collections.abc import Sequence
import dataclasses
from typing import Any

from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import phrasing
from rbd_volume_options import cache_modes
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import sizes

SUMMARIES: dict[str, Any] = {
    keys.OBJECT_SIZE: _('Size of the RADOS objects of an image.'),
    keys.STRIPE_UNIT: _('Contiguous bytes of a stripe in one object.'),
    keys.STRIPE_COUNT: _('Number of objects in a stripe.'),
    keys.OBJECT_MAP: _('Whether the image has an object map.'),
    keys.FEATURES: _('The complete set of image features.'),
    keys.CACHE_MODE: _('Cache mode of attachments.'),
    keys.DATA_POOL: _('Ceph pool that holds the data.'),
    keys.TENANT_OPTIONS: _('Keys that tenants may set on volumes.'),
}


def _powers(first: int, last: int) -> tuple[str, ...]:
    found = []
    while first <= last:
        found.append(sizes.format_size(first).replace(' ', ''))
        first *= 2
    return tuple(found)


# Suggested values. Users can enter other allowed values.
_CHOICES: dict[str, tuple[str, ...]] = {
    keys.OBJECT_SIZE: _powers(64 * sizes.KIB, layout.MAX_OBJECT_SIZE),
    keys.STRIPE_UNIT: _powers(4 * sizes.KIB, 4 * sizes.MIB),
    keys.STRIPE_COUNT: tuple(str(2**n) for n in range(7)),
    keys.OBJECT_MAP: ('true', 'false'),
    keys.CACHE_MODE: tuple(m.value for m in cache_modes.SAFE_CACHE_MODES),
    keys.TENANT_OPTIONS: (','.join(definitions.volume_keys()),),
}


# Numbers that parse as a size but are refused as a value of the key.
_WRONG = {keys.OBJECT_SIZE: '3', keys.STRIPE_UNIT: '3'}


@dataclasses.dataclass(frozen=True)
class Entry:
    """The help for a key.

    :ivar key: the key
    :ivar summary: one sentence about the key
    :ivar allowed: the allowed values, as error messages describe them
    :ivar choices: suggested values; others may be allowed as well
    """

    key: str
    summary: Any
    allowed: Any
    choices: Sequence[str]


def _allowed(key: str) -> Any:
    """Return the allowed values from an error, to define them only once."""
    specs = {}
    if definitions.partner(key):
        specs = {keys.STRIPE_UNIT: '4K', keys.STRIPE_COUNT: '2'}
    try:
        options.parse(
            {**specs, key: _WRONG.get(key, '\0')},
            keys.Scope.TYPE,
            errors.Origin.VOLUME_TYPE,
        )
    except errors.OptionError as error:
        return phrasing.in_words_lazy(error.allowed)
    raise AssertionError(f'{key} accepts any value')


ENTRIES: dict[str, Entry] = {
    key: Entry(key, summary, _allowed(key), _CHOICES.get(key, ()))
    for key, summary in SUMMARIES.items()
}
