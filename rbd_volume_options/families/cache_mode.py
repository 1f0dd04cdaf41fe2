# SPDX-License-Identifier: Apache-2.0

"""The option about the cache of attachments."""

from rbd_volume_options import cache_modes
from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import wire

Phrase = phrases.Phrase

SET_CACHE_MODE = definitions.Policy(
    wire.POLICY_SET_CACHE_MODE,
    'Set or change the cache mode of the attachments of a volume',
)

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
        parse=cache_modes.parse_cache_mode,
        conf_type='cache mode',
        conf_help=(
            'Default cache mode of attachments. The metadata and the type '
            'of a volume override it with rbd:cache_mode. Must be one of '
            'rbd_allowed_cache_modes. If unset, the compute host decides '
            '([libvirt] disk_cachemodes).'
        ),
        policy=SET_CACHE_MODE,
        attribute=wire.ATTRIBUTE_CACHE_MODES,
        unset=Phrase('Default: set by the compute host'),
        fixed=False,
        takes_effect=Phrase('at the next attachment'),
        item=wire.CONNECTION_CACHE_MODE,
        offered=True,
        choices={
            mode.value: words
            for mode, words in cache_modes.EXPLANATIONS.items()
        },
        suggestions=tuple(m.value for m in cache_modes.SAFE_CACHE_MODES),
        allowed=definitions.AllowedValues(
            option=wire.RBD_ALLOWED_CACHE_MODES,
            default=cache_modes.SAFE_CACHE_MODES,
            parse=cache_modes.parse_cache_modes,
            conf_help=(
                'Comma-separated list of the cache modes that are '
                'allowed. unsafe ignores the flushes of the guest, and is '
                'allowed only if it is listed.'
            ),
        ),
        # Several hosts write to the volume.
        shared_value=cache_modes.CacheMode.NONE,
        shared_reason=Phrase(
            'volumes of a multi-attach type can have several writing '
            'clients, whose caches are not coherent'
        ),
    ),
)
