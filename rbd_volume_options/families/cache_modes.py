# SPDX-License-Identifier: Apache-2.0

"""The cache mode of attachments, by the names of QEMU and libvirt."""

from collections.abc import Collection
import enum

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases

#: Item of ``connection_info['data']``: the requested cache mode. Nova stores
#: it with the block device mapping, so that it persists across restarts and is
#: used again after a migration.
ITEM = 'cache_mode'


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
    words = keys.split_list(value)
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


Phrase = phrases.Phrase

OPTIONS = (
    definitions.Option(
        key=keys.CACHE_MODE,
        kind=definitions.Kind.CONNECTION,
        value_type=definitions.ValueType.WORD,
        title=Phrase('Cache mode'),
        summary=Phrase('cache mode of attachments'),
        description=(
            'How the compute host caches reads and writes of the guest.'
        ),
        when_to_use=Phrase(
            'How the compute host caches reads and writes of the instance.'
            ' If the host fails, completed writes are safe with '
            'writethrough and directsync, and flushed data is safe with '
            'none and writeback. With unsafe, data is lost.'
        ),
        parse=parse_cache_mode,
        conf_type='cache mode',
        conf_help=(
            'Default cache mode of attachments. The metadata and the type '
            'of a volume override it with rbd:cache_mode. Must be one of '
            'rbd_allowed_cache_modes. If unset, the compute host decides '
            '([libvirt] disk_cachemodes).'
        ),
        policy=definitions.Policy(
            'cache_mode',
            'Set or change the cache mode of the attachments of a volume',
        ),
        attribute=definitions.ATTRIBUTE_CACHE_MODES,
        unset=Phrase('Default: set by the compute host'),
        fixed=False,
        takes_effect=Phrase('at the next attachment'),
        item=ITEM,
        offered=True,
        choices={mode.value: words for mode, words in EXPLANATIONS.items()},
        suggestions=tuple(m.value for m in SAFE_CACHE_MODES),
        allowed=definitions.AllowedValues(
            option='rbd_allowed_cache_modes',
            default=SAFE_CACHE_MODES,
            parse=parse_cache_modes,
            conf_help=(
                'Comma-separated list of the cache modes that are '
                'allowed. unsafe ignores the flushes of the guest, and is '
                'allowed only if it is listed.'
            ),
        ),
        # Several hosts write to the volume.
        shared_value=CacheMode.NONE,
        shared_reason=Phrase(
            'volumes of a multi-attach type can have several writing '
            'clients, whose caches are not coherent'
        ),
    ),
)
