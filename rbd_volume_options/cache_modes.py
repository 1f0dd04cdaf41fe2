# SPDX-License-Identifier: Apache-2.0

"""Cache modes of an attachment, by the names of QEMU and libvirt."""

from collections.abc import Collection
import enum

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import lists
from rbd_volume_options import phrases


class CacheMode(enum.Enum):
    """How QEMU's RBD driver uses the cache of librbd and handles flushes.

    Measured with QEMU 7.2: ``none`` and ``directsync`` open the image with
    ``rbd_cache=false``, the other modes with ``rbd_cache=true``.
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


#: The modes that keep all data that a guest has flushed. ``unsafe`` ignores
#: flushes and is offered only if the operator lists it.
SAFE_CACHE_MODES: tuple[CacheMode, ...] = (
    CacheMode.NONE,
    CacheMode.WRITETHROUGH,
    CacheMode.WRITEBACK,
    CacheMode.DIRECTSYNC,
)


#: What each mode does, for people who choose one.
EXPLANATIONS: dict[CacheMode, phrases.Phrase] = {
    CacheMode.NONE: phrases.Phrase('no cache on the host'),
    CacheMode.WRITETHROUGH: phrases.Phrase('caches reads; slow writes'),
    CacheMode.WRITEBACK: phrases.Phrase('caches reads and writes'),
    CacheMode.DIRECTSYNC: phrases.Phrase('no cache; slowest writes'),
    CacheMode.UNSAFE: phrases.Phrase('ignores flushes'),
}


def parse_cache_mode(value: str) -> CacheMode:
    """Return the cache mode of a name.

    :raises OptionError: for an unknown mode
    """
    for mode in CacheMode:
        if mode.value == value:
            return mode
    raise errors.OptionError(
        keys.CACHE_MODE,
        value,
        phrases.Phrase('not a cache mode'),
        joined(SAFE_CACHE_MODES),
    )


def parse_cache_modes(value: str) -> tuple[CacheMode, ...]:
    """Return the modes in a comma-separated list.

    :raises OptionError: for an unknown mode
    """
    known = {mode.value: mode for mode in CacheMode}
    words = lists.split(value)
    for word in words:
        if word not in known:
            raise errors.OptionError(
                keys.CACHE_MODE,
                value,
                phrases.Phrase(
                    '{word} is not a cache mode', word=errors.shown(word)
                ),
                phrases.Phrase(
                    'a comma-separated list of {names}',
                    names=joined(tuple(CacheMode)),
                ),
            )
    return tuple(known[word] for word in words)


def joined(modes: Collection[CacheMode]) -> str:
    """Return the names of modes for a message, ordered as in the enum."""
    names = ', '.join(m.value for m in CacheMode if m in modes)
    return names or phrases.Phrase('no cache mode')


def librbd_caches(setting: str) -> bool:
    """Return whether a value of librbd's ``rbd_cache`` enables the cache.

    The cache is on for ``true``, in upper or lower case, and for a number
    other than 0. librbd rejects any value that is neither a boolean nor a
    number.

    :param setting: the value as librbd stores it
    """
    text = setting.lower()
    return text == 'true' or text.strip('-0').isdigit()
