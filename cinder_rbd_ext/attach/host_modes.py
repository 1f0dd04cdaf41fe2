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

"""What a compute host offers, and whether that is what is asked for.

A compute host whose Nova has the plug-in tells in its connector which cache
modes volumes may ask for there. A host without it says nothing, and would
ignore a mode without a word.
"""

from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext.attach import attachment_mode
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

HostModes = frozenset[cache_modes.CacheMode]

_KNOWN = {mode.value: mode for mode in cache_modes.CacheMode}


def of_connector(connector: Mapping[str, Any]) -> HostModes | None:
    """Return the modes that a connector lists; None for one without a list.

    A connector is a caller's text. Words that are no modes are passed over
    (a newer plug-in may know more), and what is no list lists nothing.
    """
    if wire.CONNECTOR_CACHE_MODES not in connector:
        return None
    listed = connector[wire.CONNECTOR_CACHE_MODES]
    if isinstance(listed, str):
        listed = listed.split(',')
    if not isinstance(listed, list | tuple):
        LOG.warning(
            'Connector of host %(host)s: %(key)s = %(value)s is no list',
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
    """Return a host's name as a message may repeat it."""
    return errors.shown(connector.get('host', ''))


def check(asked: attachment_mode.Asked, offer: HostModes | None) -> None:
    """Check that a host offers what is asked for.

    The host is not named here: tenants read this, who aren't told names of
    hosts by Cinder's and Nova's own APIs either.

    :raises OptionError: where it doesn't
    """
    if asked.shared or asked.mode in (offer or ()):
        # Nova itself gives shared disks the one mode that they can have.
        return
    if offer is None:
        reason = (
            'the compute host offers no cache modes, its Nova has no active '
            'rbd_cache plug-in'
        )
        allowed = 'no mode there; or have the plug-in installed'
    else:
        reason = 'the compute host does not offer it'
        allowed = (
            f'{cache_modes.joined(offer)}, by [rbd_cache] allowed_modes there'
        )
    raise errors.OptionError(
        keys.CACHE_MODE, asked.mode.value, reason, allowed, asked.origin
    )
