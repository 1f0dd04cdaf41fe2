# SPDX-License-Identifier: Apache-2.0

"""The cache modes of a compute host, and the check of a requested mode.

A compute host with the Nova plug-in lists the available cache modes in its
connector. A host without the plug-in lists none and would silently ignore a
mode.
"""

from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext.attach import attachment_mode
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

#: What an operator can do about a host that does not offer a mode.
ADVICE = (
    'Activate the Nova plug-in on the host, add the mode to [rbd_cache] '
    'allowed_modes of its nova.conf, or enable RBDCacheModeFilter in '
    'nova-scheduler'
)

HostModes = frozenset[cache_modes.CacheMode]

_KNOWN = {mode.value: mode for mode in cache_modes.CacheMode}


def of_connector(connector: Mapping[str, Any]) -> HostModes | None:
    """Return the modes that a connector lists; None if it has no list.

    A connector is input from a caller. Unknown modes are ignored, because a
    newer plug-in may have more. A value that is not a list counts as an empty
    list.
    """
    if wire.CONNECTOR_CACHE_MODES not in connector:
        return None
    listed = connector[wire.CONNECTOR_CACHE_MODES]
    if isinstance(listed, str):
        listed = listed.split(',')
    if not isinstance(listed, list | tuple):
        LOG.warning(
            'Connector of host %(host)s: %(key)s = %(value)s is not a list',
            {
                'host': host_of(connector),
                'key': wire.CONNECTOR_CACHE_MODES,
                'value': errors.shown(listed),
            },
        )
        return frozenset()
    words = {word.strip() for word in listed if isinstance(word, str)}
    return frozenset(_KNOWN[word] for word in words & _KNOWN.keys())


def host_of(connector: Mapping[str, Any]) -> str:
    """Return a host's name in a form that is safe in messages."""
    return errors.shown(connector.get('host', ''))


def check(asked: attachment_mode.Asked, offer: HostModes | None) -> None:
    """Check that a host offers the requested mode.

    The error does not name the host, because tenants read it. The APIs of
    Cinder and Nova do not show host names to tenants either. It is short,
    because Nova truncates the fault of a server after 255 characters. What an
    operator can do is :data:`ADVICE`, for the log.

    :raises OptionError: if the host does not offer it
    """
    if asked.shared or asked.mode in (offer or ()):
        # Nova itself uses this mode for all shared disks.
        return
    if offer is None:
        reason = 'the compute host offers no cache modes'
        allowed = 'no cache mode'
    else:
        reason = 'the compute host does not offer it'
        allowed = cache_modes.joined(offer)
    raise asked.refusal(reason, allowed)
