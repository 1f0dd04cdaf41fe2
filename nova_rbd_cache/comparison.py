# SPDX-License-Identifier: Apache-2.0

"""Disks of running guests, compared with Cinder and the host's options."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from lxml import etree

from nova_rbd_cache import settings
from rbd_volume_options import compute_hosts
from rbd_volume_options import wire

State = compute_hosts.State
_BROKEN = State.PROMISE_BROKEN

_BLOCK_IO = (
    wire.CONNECTION_LOGICAL_BLOCK_SIZE,
    wire.CONNECTION_PHYSICAL_BLOCK_SIZE,
    wire.CONNECTION_DISCARD_GRANULARITY,
)


@dataclasses.dataclass(frozen=True)
class Disk:
    """An RBD volume in libvirt's XML of a running guest.

    :ivar driver: attributes of its ``driver`` element
    :ivar block_io: attributes of its ``blockio`` element
    :ivar limits: its limits on reads and writes, by their names in Nova
    """

    server: str
    volume: str
    target: str
    bus: str
    driver: Mapping[str, str]
    block_io: Mapping[str, str]
    limits: Mapping[str, str]

    @property
    def mode(self) -> str:
        """Its cache mode."""
        return self.driver.get('cache', 'default')


def disks(xml: str) -> Iterator[Disk]:
    """Yield the RBD volumes of a guest."""
    tree = etree.fromstring(xml)
    for disk in tree.iter('disk'):
        serial = disk.findtext('serial')
        source = disk.find('source')
        if serial and source is not None and source.get('protocol') == 'rbd':
            target = disk.find('target')
            iotune = disk.find('iotune')
            yield Disk(
                tree.findtext('uuid', ''),
                serial,
                target.get('dev', ''),
                target.get('bus', ''),
                _attributes(disk, 'driver'),
                _attributes(disk, 'blockio'),
                {}
                if iotune is None
                else {limit.tag: limit.text for limit in iotune},
            )


def _attributes(disk: Any, name: str) -> dict[str, str]:
    element = disk.find(name)
    return {} if element is None else dict(element.attrib)


@dataclasses.dataclass(frozen=True)
class Compared:
    """A disk and its comparison.

    :ivar requested: the requested mode; empty if the host decides
    """

    disk: Disk
    requested: str
    state: State
    differences: tuple[str, ...]


def compare(
    disk: Disk,
    connection: Mapping[str, Any] | None,
    host_settings: settings.Settings,
) -> Compared:
    """Compare a disk with its connection from Cinder and the host's options.

    :param connection: the items of the connection; None if Cinder has no
        attachment of the volume to the server
    """
    if connection is None:
        return Compared(
            disk, '', State.DIFFERS, ('Cinder has no such attachment',)
        )
    requested = str(connection.get(wire.CONNECTION_CACHE_MODE) or '')
    differences = [
        *_of_mode(disk, requested, host_settings),
        *_of_items(disk, connection),
        *_of_host(disk, host_settings),
    ]
    state = State.DIFFERS if differences else State.AS_REQUESTED
    if compute_hosts.compare_modes(requested, disk.mode) is _BROKEN:
        state = _BROKEN
    return Compared(disk, requested, state, tuple(differences))


def _of_mode(
    disk: Disk, requested: str, host_settings: settings.Settings
) -> Iterator[str]:
    if requested and requested != disk.mode:
        allowed = requested in [x.value for x in host_settings.allowed_modes]
        yield f'cache mode: {requested} is requested' + (
            ' (at the next start)' if allowed else ' (not allowed here)'
        )


def _of_items(disk: Disk, connection: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences of the items other than the mode."""
    discards = disk.driver.get('discard') == 'unmap'
    if wire.CONNECTION_DISCARD in connection and discards is not bool(
        connection[wire.CONNECTION_DISCARD]
    ):
        yield f'discard: {disk.driver.get("discard", "default")}'
    zeroes = disk.driver.get('detect_zeroes', 'off')
    wanted = connection.get(wire.CONNECTION_DETECT_ZEROES) or 'off'
    if zeroes != wanted:
        yield f'detect_zeroes: {zeroes}, {wanted} is requested'
    for name in _BLOCK_IO:
        value, wanted = disk.block_io.get(name), connection.get(name)
        if wanted is not None and str(wanted) != value:
            yield f'{name}: {value or "default"}, {wanted} is requested'
    for name, wanted in (connection.get('qos_specs') or {}).items():
        value = disk.limits.get(name)
        if value is not None and value != str(wanted):
            yield f'{name}: {value}, {wanted} is requested'


def _of_host(disk: Disk, host_settings: settings.Settings) -> Iterator[str]:
    if disk.bus != 'virtio':
        return
    if host_settings.disks.iothread and 'iothread' not in disk.driver:
        yield 'no I/O thread (at the next start)'
    queues = host_settings.disks.queues
    if queues and disk.driver.get('queues') != str(queues):
        yield f'queues: {disk.driver.get("queues", "default")}, not {queues}'


def metrics(compared: Iterable[Compared]) -> str:
    """Return the comparison in the text format of Prometheus."""
    rows = list(compared)
    lines = [
        '# HELP rbd_guest_disks RBD volumes of running guests by state.',
        '# TYPE rbd_guest_disks gauge',
    ]
    for state in (State.AS_REQUESTED, State.DIFFERS, _BROKEN):
        count = sum(row.state is state for row in rows)
        name = state.value.replace(' ', '_')
        lines.append(f'rbd_guest_disks{{state="{name}"}} {count}')
    lines += [
        '# HELP rbd_guest_disk_other_mode RBD volumes of running guests that '
        'do not have the requested cache mode.',
        '# TYPE rbd_guest_disk_other_mode gauge',
    ]
    for row in rows:
        if row.requested and row.requested != row.disk.mode:
            labels = {
                'server': row.disk.server,
                'volume': row.disk.volume,
                'mode': row.disk.mode,
                'requested': row.requested,
            }
            shown = ','.join(f'{k}="{_label(v)}"' for k, v in labels.items())
            lines.append(f'rbd_guest_disk_other_mode{{{shown}}} 1')
    return '\n'.join([*lines, ''])


def _label(value: str) -> str:
    escaped = value.replace('\\', r'\\').replace('"', r'\"')
    return escaped.replace('\n', r'\n')
