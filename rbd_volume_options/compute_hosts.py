# SPDX-License-Identifier: Apache-2.0

"""What a compute host can do for the disks of RBD volumes.

The Nova plug-in sends it as one item of the connector. Cinder stores the
connector with each attachment. A host without the item has no plug-in.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import registry
from rbd_volume_options.families import cache_modes

_MODES = {mode.value: mode for mode in cache_modes.CacheMode}
#: Item of a connector: what the compute host can do. A host without this item
#: ignores cache modes.
CONNECTOR_ITEM = 'rbd_host'
#: Names of the programs in the versions of a host.
_PROGRAMS = {'libvirt': 'libvirt', 'qemu': 'QEMU'}


def keys_with_requirements() -> frozenset[str]:
    """Return the keys that a compute host may be unable to apply."""
    return frozenset(
        key for key, option in registry.OPTIONS.items() if option.requires
    )


@dataclasses.dataclass(frozen=True)
class ComputeHost:
    """A compute host with the Nova plug-in.

    :ivar modes: the cache modes that it allows
    :ivar keys: those of :func:`keys_with_requirements` that it can apply
    :ivar versions: of ``plug_in``, ``nova``, ``libvirt`` and ``qemu``, as far
        as known
    :ivar io_thread: whether the I/O thread of a guest serves its disks
    :ivar buses: the buses of disks that its machine types have
    """

    modes: frozenset[cache_modes.CacheMode]
    keys: frozenset[str] = frozenset()
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    io_thread: bool = False
    buses: tuple[str, ...] = ()

    @property
    def item(self) -> dict[str, Any]:
        """The item of the connector."""
        return {
            'modes': sorted(mode.value for mode in self.modes),
            'keys': sorted(self.keys),
            'versions': dict(self.versions),
            'io_thread': self.io_thread,
            'buses': list(self.buses),
        }

    @property
    def software(self) -> str:
        """The versions of libvirt and QEMU, for a message."""
        return ', '.join(
            f'{shown} {errors.shown(self.versions[name])[1:-1]}'
            for name, shown in _PROGRAMS.items()
            if name in self.versions
        )

    def in_force(
        self, requested: cache_modes.CacheMode
    ) -> cache_modes.CacheMode:
        """Return the mode that a disk gets here.

        Without a cache, librbd acknowledges a write after it is stored.
        """
        if requested in self.modes:
            return requested
        return cache_modes.CacheMode.NONE


def host_in_connector(
    connector: Mapping[str, Any] | None,
) -> ComputeHost | None:
    """Return the host of a connector; None without the plug-in.

    What a newer plug-in may add is ignored.
    """
    item = (connector or {}).get(CONNECTOR_ITEM)
    if not isinstance(item, Mapping):
        return None
    versions = item.get('versions')
    return ComputeHost(
        frozenset(_MODES[x] for x in _texts(item, 'modes') if x in _MODES),
        frozenset(_texts(item, 'keys')),
        {
            str(name): version
            for name, version in (
                versions.items() if isinstance(versions, Mapping) else ()
            )
            if isinstance(version, str)
        },
        item.get('io_thread') is True,
        tuple(_texts(item, 'buses')),
    )


def _texts(item: Mapping[str, Any], name: str) -> Iterator[str]:
    listed = item.get(name)
    for text in listed if isinstance(listed, list) else ():
        if isinstance(text, str):
            yield text


@dataclasses.dataclass(frozen=True)
class Heard:
    """What a host last told Cinder.

    :ivar host: None without the plug-in
    :ivar at: time in ISO 8601; empty if it was never heard
    """

    host: ComputeHost | None = None
    at: str = ''


def heard(told: Mapping[str, Any]) -> Heard:
    """Return what a host told, in the response to the route of hosts.

    A connector without the item could also be that of a tenant.
    """
    described = host_in_connector(told)
    at = told.get('heard_at') or ''
    without = told.get('heard_without_plug_in_at') or ''
    if described is None or without > at:
        return Heard(None, without)
    return Heard(described, at)


class State(enum.Enum):
    """How a disk compares with what is requested."""

    AS_REQUESTED = 'as requested'
    DIFFERS = 'differs'
    #: Writes that the requested mode keeps can be lost.
    PROMISE_BROKEN = 'promise broken'
    #: The host has no plug-in, and decides on the mode.
    UNKNOWN = 'unknown'


def compare_modes(requested: str, in_force: str | None) -> State:
    """Compare two cache modes by name; an unknown one keeps any promise."""
    if in_force is None:
        return State.UNKNOWN
    if requested == in_force:
        return State.AS_REQUESTED
    wanted, actual = _MODES.get(requested), _MODES.get(in_force)
    if wanted and actual and _SURVIVES[actual] < _PROMISES[wanted]:
        return State.PROMISE_BROKEN
    return State.DIFFERS


_FLUSHED, _COMPLETED = 1, 2
#: What a mode promises to keep if the host fails: flushed or completed writes.
_PROMISES = {
    cache_modes.CacheMode.UNSAFE: 0,
    cache_modes.CacheMode.WRITEBACK: _FLUSHED,
    cache_modes.CacheMode.NONE: _FLUSHED,
    cache_modes.CacheMode.WRITETHROUGH: _COMPLETED,
    cache_modes.CacheMode.DIRECTSYNC: _COMPLETED,
}
#: What a mode keeps with librbd, which has no volatile cache below ``none``.
_SURVIVES = {**_PROMISES, cache_modes.CacheMode.NONE: _COMPLETED}
