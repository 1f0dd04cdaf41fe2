# SPDX-License-Identifier: Apache-2.0

"""Disks of running guests, compared with Cinder and the host's options."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from nova_rbd_cache import guests
from nova_rbd_cache import settings
from rbd_volume_options import compute_hosts
from rbd_volume_options.families import cache_modes
from rbd_volume_options.families import discard

State = compute_hosts.State
_BROKEN = State.PROMISE_BROKEN

_BLOCK_IO = (
    'logical_block_size',
    'physical_block_size',
    discard.ITEM_GRANULARITY,
)


@dataclasses.dataclass(frozen=True)
class Compared:
    """A disk and its comparison.

    :ivar mode: its cache mode
    :ivar requested: the requested mode; empty if the host decides
    """

    server: str
    disk: guests.Disk
    mode: str
    requested: str
    state: State
    differences: tuple[str, ...]


def compare(
    guest: guests.Guest,
    connections: Mapping[str, Mapping[str, Any]],
    host_settings: settings.Settings,
) -> Iterator[Compared]:
    """Compare a guest's RBD volumes with Cinder and the host's options.

    :param connections: the items of the connections in Cinder, by volume
    """
    for disk in guest.disks.values():
        if disk.protocol != 'rbd':
            continue
        mode = disk.attributes.get('cache', 'default')
        connection = connections.get(disk.volume)
        state = State.DIFFERS
        if connection is None:
            requested = ''
            differences = ['Cinder has no such attachment']
        else:
            requested = str(connection.get(cache_modes.ITEM) or '')
            differences = [
                *_of_mode(mode, requested, host_settings),
                *_of_items(disk, connection),
                *_of_host(disk, host_settings),
            ]
        if not differences:
            state = State.AS_REQUESTED
        elif compute_hosts.compare_modes(requested, mode) is _BROKEN:
            state = _BROKEN
        yield Compared(
            guest.server, disk, mode, requested, state, tuple(differences)
        )


def _of_mode(
    mode: str, requested: str, host_settings: settings.Settings
) -> Iterator[str]:
    if requested and requested != mode:
        allowed = requested in [x.value for x in host_settings.allowed_modes]
        yield f'cache mode: {requested} is requested' + (
            ' (at the next start)' if allowed else ' (not allowed here)'
        )


def _of_items(
    disk: guests.Disk, connection: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the differences of the items other than the mode."""
    discards = disk.attributes.get('discard') == 'unmap'
    if 'discard' in connection and discards is not bool(connection['discard']):
        yield f'discard: {disk.attributes.get("discard", "default")}'
    zeroes = disk.attributes.get('detect_zeroes', 'off')
    wanted = connection.get(discard.ITEM_ZEROES) or 'off'
    if zeroes != wanted:
        yield f'detect_zeroes: {zeroes}, {wanted} is requested'
    for name in _BLOCK_IO:
        value, wanted = disk.attributes.get(name), connection.get(name)
        if wanted is not None and str(wanted) != value:
            yield f'{name}: {value or "default"}, {wanted} is requested'
    for name, wanted in (connection.get('qos_specs') or {}).items():
        value = disk.limits.get(name)
        if value is not None and value != str(wanted):
            yield f'{name}: {value}, {wanted} is requested'


def _of_host(
    disk: guests.Disk, host_settings: settings.Settings
) -> Iterator[str]:
    if disk.bus != 'virtio':
        return
    if host_settings.disks.iothread and 'iothread' not in disk.attributes:
        yield 'no I/O thread (at the next start)'
    has = disk.attributes.get('queues', 'default')
    wanted = host_settings.disks.queues
    if wanted and has != str(wanted):
        yield f'queues: {has}, not {wanted}'


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
        if row.requested and row.requested != row.mode:
            labels = {
                'server': row.server,
                'volume': row.disk.volume,
                'mode': row.mode,
                'requested': row.requested,
            }
            shown = ','.join(f'{k}="{_label(v)}"' for k, v in labels.items())
            lines.append(f'rbd_guest_disk_other_mode{{{shown}}} 1')
    return '\n'.join([*lines, ''])


def _label(value: str) -> str:
    escaped = value.replace('\\', r'\\').replace('"', r'\"')
    return escaped.replace('\n', r'\n')
