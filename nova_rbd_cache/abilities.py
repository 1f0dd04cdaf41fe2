# SPDX-License-Identifier: Apache-2.0

"""What this host can do for RBD volumes, for its connector.

Nova gets a connector for each attachment, so nothing here may raise.
"""

from collections.abc import Callable
from importlib import metadata
from typing import Any

from lxml import etree
from nova import version
from oslo_log import log as logging
from oslo_utils import versionutils

from nova_rbd_cache import settings
from rbd_volume_options import compute_hosts
from rbd_volume_options import keys
from rbd_volume_options.families import discard

LOG = logging.getLogger(__name__)

_DISTRIBUTION = 'rbd-volume-options'


def of_host(
    host_settings: settings.Settings, host: Any
) -> compute_hosts.ComputeHost:
    """Return what a host can do, as far as libvirt responds.

    :param host: Nova's object for libvirt
    """
    libvirt = _answer(lambda: host.get_connection().getLibVersion())
    qemu = _answer(lambda: host.get_connection().getVersion())
    versions = {
        'plug_in': _answer(lambda: metadata.version(_DISTRIBUTION)),
        'nova': version.version_string(),
        'libvirt': _shown(libvirt),
        'qemu': _shown(qemu),
    }
    applied = compute_hosts.keys_with_requirements()
    oldest = versionutils.convert_version_to_int(discard.OLDEST_LIBVIRT)
    if libvirt is None or libvirt < oldest:
        applied -= {keys.DISCARD_GRANULARITY}
    buses = _answer(
        lambda: _buses(host.get_connection().getDomainCapabilities())
    )
    return compute_hosts.ComputeHost(
        frozenset(host_settings.allowed_modes),
        applied,
        {name: shown for name, shown in versions.items() if shown},
        host_settings.disks.iothread,
        tuple(buses or ()),
    )


def _shown(number: int | None) -> str | None:
    if number is None:
        return None
    shown: str = versionutils.convert_version_to_str(number)
    return shown


def _buses(xml: str) -> list[str]:
    """Return the buses of disks in libvirt's description of a domain."""
    path = 'devices/disk/enum[@name="bus"]/value'
    return [value.text for value in etree.fromstring(xml).findall(path)]


def _answer(action: Callable[[], Any]) -> Any:
    """Return an answer; None if there is none."""
    try:
        return action()
    except Exception as error:
        LOG.debug('Could not get a capability of this host: %r', error)
        return None
