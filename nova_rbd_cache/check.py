# SPDX-License-Identifier: Apache-2.0

"""Checks whether the plug-in would be active in nova-compute on this host."""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import functools
from importlib import metadata
import types
from typing import Any

from nova import version
from nova.virt.libvirt import driver
from oslo_utils import importutils

from nova_rbd_cache import abilities
from nova_rbd_cache import compute_driver
from nova_rbd_cache import contract
from nova_rbd_cache import plugin
from nova_rbd_cache import registration
from nova_rbd_cache import settings
from nova_rbd_cache import volume
from rbd_volume_options import compute_hosts
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options.families import cache_modes

#: The entry point, as in setup.cfg.
NAMESPACE = 'os_vif'
ENTRY_POINT = 'rbd_cache'

_URI = 'qemu:///system'


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check.

    :ivar subject: what was checked
    :ivar ok: False if the finding prevents the plug-in from being active
    :ivar detail: what was found
    """

    subject: str
    ok: bool
    detail: str


def findings(conf: Any) -> Iterator[Finding]:
    """Check this host; checks that depend on a failed one are skipped.

    :param conf: Nova's configuration, with its files already read
    """
    yield Finding('Nova', True, version.version_string())
    yield _entry_point()
    files = ', '.join(conf.config_file or ()) or 'none found'
    yield Finding('configuration files', True, files)
    yield from _configured(conf)


def _entry_point() -> Finding:
    """Check the entry point that os-vif would load."""
    subject = 'entry point'
    points = metadata.entry_points(group=NAMESPACE)
    ours = [point for point in points if point.name == ENTRY_POINT]
    if not ours:
        return Finding(
            subject,
            False,
            f'no {ENTRY_POINT} in {NAMESPACE}; install the distribution into '
            'the Python environment of nova-compute',
        )
    (point, *_) = ours
    loaded = _attempt(point.load)
    if loaded is not plugin.RBDCachePlugin:
        return Finding(subject, False, f'{point.value}: {loaded}')
    return Finding(subject, True, f'{NAMESPACE}: {ENTRY_POINT}')


def _configured(conf: Any) -> Iterator[Finding]:
    is_enabled = _attempt(lambda: settings.enabled(conf))
    if is_enabled is not True:
        detail = (
            '[rbd_cache] enabled = False'
            if is_enabled is False
            else is_enabled
        )
        yield Finding('enabled', False, str(detail))
        return
    yield Finding('enabled', True, '[rbd_cache] enabled = True')
    is_libvirt = registration.is_libvirt(conf)
    yield Finding('compute driver', is_libvirt, str(conf.compute_driver))
    read = _attempt(lambda: settings.read(conf))
    if not isinstance(read, settings.Settings):
        yield Finding('options', False, str(read))
    elif is_libvirt:
        yield from _registered(read)
        yield from _effect(conf, read)


def _registered(host_settings: settings.Settings) -> Iterator[Finding]:
    """Register the plug-in in this process, as in nova-compute."""
    wrong = '; '.join(contract.problems(host_settings))
    yield Finding('interfaces of Nova', not wrong, wrong or 'as expected')
    problem = _attempt(lambda: registration.register(host_settings))
    if problem is None:
        loaded = _attempt(
            lambda: importutils.import_class(driver.VOLUME_DRIVERS['rbd'])
        )
        if loaded is not volume.RBDCacheVolumeDriver:
            problem = loaded
    yield Finding(
        'registration',
        problem is None,
        str(problem or driver.VOLUME_DRIVERS['rbd']),
    )


def _effect(conf: Any, host_settings: settings.Settings) -> Iterator[Finding]:
    """Report the effect of the settings on volumes and disks."""
    yield Finding(
        'allowed modes', True, cache_modes.joined(host_settings.allowed_modes)
    )
    reported = [
        compute_driver.trait(mode) for mode in host_settings.allowed_modes
    ]
    yield Finding('traits', True, ', '.join(reported))
    stock = ', '.join(conf.libvirt.disk_cachemodes) or 'none'
    yield Finding('mode of other volumes', True, stock)
    if host_settings.disks.given:
        yield Finding('disks of volumes', True, _disks(host_settings.disks))
    yield Finding('ephemeral disks', True, _ephemeral(host_settings.ephemeral))


def _disks(host_settings: settings.DiskSettings) -> str:
    thread = (
        "the guest's I/O thread" if host_settings.iothread else 'no I/O thread'
    )
    return f'{thread}, queues: {host_settings.queues or "default of QEMU"}'


def _ephemeral(host_settings: settings.EphemeralSettings) -> str:
    if not host_settings.chosen:
        return 'stock features'
    if host_settings.whole:
        return features.joined(host_settings.features(frozenset()))
    return f'object map: {host_settings.options[keys.OBJECT_MAP]}'


def connector(conf: Any) -> dict[str, Any]:
    """Return the connector that nova-compute sends to Cinder.

    :param conf: Nova's configuration, with its files already read
    :raises ValueError: if the plug-in is disabled, or for an invalid option
    """
    if not settings.enabled(conf):
        raise ValueError(
            '[rbd_cache] enabled = False: the plug-in adds nothing to the '
            'connector of this host, use nova-manage volume_attachment '
            'get_connector'
        )
    # The method does not use the driver, nor the server.
    properties: dict[str, Any] = compute_driver.STOCK.get_volume_connector(
        None, None
    )
    properties[compute_hosts.CONNECTOR_ITEM] = of_host(conf).item
    return properties


def of_host(conf: Any) -> compute_hosts.ComputeHost:
    """Return what this host can do, as far as libvirt responds."""
    return abilities.of_host(
        settings.read(conf),
        types.SimpleNamespace(
            get_connection=functools.cache(lambda: connection(conf))
        ),
    )


def connection(conf: Any) -> Any:
    """Connect to libvirt through the URI that Nova uses, to read only."""
    module: Any = importutils.import_module('libvirt')
    return module.openReadOnly(conf.libvirt.connection_uri or _URI)


def running_guests(conf: Any) -> list[str]:
    """Return the XML of the guests that run on this host."""
    opened = connection(conf)
    try:
        # VIR_CONNECT_LIST_DOMAINS_ACTIVE
        return [domain.XMLDesc(0) for domain in opened.listAllDomains(1)]
    finally:
        opened.close()


def libvirt(conf: Any) -> Finding:
    """Check that libvirt responds, and what volumes the host can attach."""
    error = _attempt(lambda: connection(conf).close())
    if error is not None:
        return Finding('libvirt', False, str(error))
    host = of_host(conf)
    missing = compute_hosts.keys_with_requirements() - host.keys
    detail = host.software
    for key in sorted(missing):
        detail += (
            f'; volumes with {key} cannot be attached: it requires '
            f'{registry.OPTIONS[key].requires}'
        )
    return Finding('libvirt', True, detail)


def _attempt(action: Callable[[], Any]) -> Any:
    """Return the result of an action, or the exception that it raises."""
    try:
        return action()
    except Exception as error:
        return error
