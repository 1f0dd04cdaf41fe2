#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Cache modes of an attachment, in QEMU's and libvirt's words."""

from collections.abc import Collection
import enum

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import lists


class CacheMode(enum.Enum):
    """What QEMU's RBD driver does with librbd's cache and with flushes.

    Measured with QEMU 7.2: ``none`` and ``directsync`` open the image with
    ``rbd_cache=false``, the others with ``rbd_cache=true``.
    """

    NONE = 'none'
    WRITETHROUGH = 'writethrough'
    WRITEBACK = 'writeback'
    DIRECTSYNC = 'directsync'
    UNSAFE = 'unsafe'

    @property
    def uses_rbd_cache(self) -> bool:
        """Whether librbd caches in this mode."""
        return self not in (CacheMode.NONE, CacheMode.DIRECTSYNC)


#: Those that lose nothing that a guest has flushed. ``unsafe`` drops flushes
#: and is offered only where an operator lists it.
SAFE_CACHE_MODES: tuple[CacheMode, ...] = (
    CacheMode.NONE,
    CacheMode.WRITETHROUGH,
    CacheMode.WRITEBACK,
    CacheMode.DIRECTSYNC,
)


def parse_cache_mode(value: str) -> CacheMode:
    """Return a cache mode.

    :raises OptionError: for a word that is none
    """
    for mode in CacheMode:
        if mode.value == value:
            return mode
    raise errors.OptionError(
        keys.CACHE_MODE, value, 'not a cache mode', joined(SAFE_CACHE_MODES)
    )


def parse_cache_modes(value: str) -> tuple[CacheMode, ...]:
    """Return the modes that a comma-separated list names.

    :raises OptionError: for a word that is none
    """
    known = {mode.value: mode for mode in CacheMode}
    words = lists.split(value)
    for word in words:
        if word not in known:
            raise errors.OptionError(
                keys.CACHE_MODE,
                value,
                f'{errors.shown(word)} is not a cache mode',
                'a comma-separated list of ' + joined(tuple(CacheMode)),
            )
    return tuple(known[word] for word in words)


def joined(modes: Collection[CacheMode]) -> str:
    """Return modes in the order of :class:`CacheMode`, for a message."""
    return ', '.join(m.value for m in CacheMode if m in modes) or 'none at all'


def librbd_caches(setting: str) -> bool:
    """Return whether librbd caches with a value of its option ``rbd_cache``.

    The value as librbd keeps it: ``true`` in any case, or a number other
    than 0; it refuses what is neither a boolean nor a number.
    """
    text = setting.lower()
    return text == 'true' or text.strip('-0').isdigit()
