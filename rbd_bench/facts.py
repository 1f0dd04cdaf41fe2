# SPDX-License-Identifier: Apache-2.0

"""Facts about the cluster and the client that affect the results."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import json
import os
import platform
import re
import socket
import subprocess
import time
from typing import Any

from rbd_bench import qemu
from rbd_volume_options import layout
from rbd_volume_options import wire
from rbd_volume_tools.command_line import ceph_options

_Tree = Mapping[int, Mapping[str, Any]]


def osds(tree: Mapping[str, Any], rule: int) -> set[int]:
    """Return the OSDs below the buckets that a rule takes.

    A device class is a bucket of its own, such as ``default~ssd``.

    :param tree: the answer to ``osd crush dump``
    :param rule: ID of the rule
    """
    buckets: _Tree = {each['id']: each for each in tree['buckets']}
    numbers: set[int] = set()
    for each in tree['rules']:
        if each['rule_id'] == rule:
            for step in each['steps']:
                if step['op'] == 'take':
                    numbers |= _below(buckets, step['item'])
    return numbers


def _below(buckets: _Tree, item: int) -> set[int]:
    """Return the OSDs of a bucket, or the OSD itself."""
    # Buckets have negative IDs.
    if item >= 0:
        return {item}
    return {
        osd
        for each in buckets.get(item, {}).get('items', ())
        for osd in _below(buckets, each['id'])
    }


#: Options of the client that affect the results.
OPTIONS = (*ceph_options.NAMES, wire.RBD_DEFAULT_FEATURES)


class Unavailable(Exception):
    """The cluster refused a query."""


def command(cluster: Any, prefix: str, **arguments: str) -> Any:
    """Return the answer of the monitors to a command.

    :param cluster: a connection of librados
    :raises Unavailable: if the monitors refuse it
    """
    request = {'prefix': prefix, 'format': 'json', **arguments}
    status, answer, reason = cluster.mon_command(json.dumps(request), b'')
    if status:
        raise Unavailable(f'ceph {prefix}: {reason} ({status})')
    return json.loads(answer)


def gather(cluster: Any, pool: str, data_pool: str = '') -> dict[str, Any]:
    """Return the facts about the cluster and the client.

    :param pool: the pool of the images
    :param data_pool: the pool of their data, if it is another one
    """
    data_pool = data_pool or pool
    metadata = command(cluster, 'osd metadata')
    status = command(cluster, 'status')
    versions = command(cluster, 'versions')['overall']
    dump = command(cluster, 'osd dump')
    pools = {each['pool_name']: each for each in dump['pools']}
    hosts = {each.get('hostname', '') for each in metadata}
    of_pool = _pool(pools[pool])
    if data_pool != pool:
        of_pool['data_pool'] = _pool(pools[data_pool])
    return {
        'ceph': sorted(versions),
        'health': status['health']['status'],
        # Those that can store the data: the others gain nothing.
        'osds': _osds(cluster, dump, pools[data_pool]['crush_rule']),
        'osds_in_cluster': status['osdmap']['num_in_osds'],
        'osds_up': status['osdmap']['num_up_osds'],
        'hosts': len(hosts),
        'client_is_osd_host': socket.gethostname() in hosts,
        'devices': _counted(metadata, 'bluestore_bdev_type'),
        'object_stores': _counted(metadata, 'osd_objectstore'),
        'networks': _networks(metadata),
        'pool': of_pool,
        'options': options(cluster),
        'client': _client(cluster),
        'time': time.strftime('%Y-%m-%d %H:%M:%S %z'),
    }


def options(cluster: Any) -> dict[str, str]:
    """Return the options of a connection that affect the results."""
    return {name: cluster.conf_get(name) for name in OPTIONS}


def _pool(pool: Mapping[str, Any]) -> dict[str, Any]:
    return {
        'name': pool['pool_name'],
        'replicas': pool['size'],
        'placement_groups': pool['pg_num'],
    }


def _osds(cluster: Any, dump: Mapping[str, Any], rule: int) -> int:
    """Return the number of OSDs in the cluster that a CRUSH rule chooses."""
    chosen = osds(command(cluster, 'osd crush dump'), rule)
    osds_in = {each['osd'] for each in dump['osds'] if each['in']}
    return len(chosen & osds_in)


def _client(cluster: Any) -> dict[str, Any]:
    return {
        'cpus': os.cpu_count(),
        'load_average': os.getloadavg()[0],
        'kernel': platform.release(),
        'librados': str(cluster.version()),
        'rbd': _version('rbd'),
        'fio': _version('fio'),
        'qemu': _version(qemu.PROGRAM),
    }


def overrides(librbd: Any, ioctx: Any) -> dict[str, str]:
    """Return the options of librbd that a pool overrides."""
    try:
        metadata = librbd.RBD().pool_metadata_list(ioctx)
    except librbd.ImageNotFound:
        # The pool has no options and no images yet.
        return {}
    return {
        key: value
        for key, value in sorted(metadata)
        if key.startswith(ceph_options.OVERRIDE)
    }


def _counted(osds: list[Mapping[str, str]], name: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for each in osds:
        value = each.get(name, 'unknown')
        numbers[value] = numbers.get(value, 0) + 1
    return numbers


_ADDRESS = re.compile(r'(?:v\d:)?(\[[^]]+\]|[^\s:\[]+):\d+/\d+')


def _networks(osds: list[Mapping[str, str]]) -> dict[str, str]:
    """Return the kinds of networks, without addresses."""
    public = {_host(each.get('front_addr', '')) for each in osds}
    own = {_host(each.get('back_addr', '')) for each in osds}
    local = all(each.startswith(('127.', '[::1]')) for each in public)
    return {
        'public': 'loopback' if local else 'network',
        'cluster': 'the public network' if own == public else 'separate',
    }


def _host(addresses: str) -> str:
    """Return the host in addresses such as ``[v2:192.0.2.1:6800/123,...]``."""
    address = _ADDRESS.search(addresses)
    return address[1] if address else ''


def _version(program: str) -> str:
    """Return the first line of the output of a program."""
    try:
        shown = subprocess.run(
            [program, '--version'], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return 'not installed'
    return shown.partition('\n')[0].strip()


@dataclasses.dataclass(frozen=True)
class Counters:
    """Counters of the operations of a cluster's clients.

    :ivar pools: operations and bytes by pool
    :ivar taken: seconds of a monotonic clock
    """

    pools: Mapping[str, tuple[int, int]]
    taken: float


def counters(cluster: Any) -> Counters:
    """Return the counters of all pools."""
    by_pool = {
        each['name']: (
            each['stats']['rd'] + each['stats']['wr'],
            each['stats']['rd_bytes'] + each['stats']['wr_bytes'],
        )
        for each in command(cluster, 'df', detail='detail')['pools']
    }
    return Counters(by_pool, time.monotonic())


def free(cluster: Any, pool: str) -> int:
    """Return the free space of a pool, in bytes of data.

    A quota can be less than the space of the OSDs.
    """
    for each in command(cluster, 'df', detail='detail')['pools']:
        if each['name'] == pool:
            return max(0, _free(each['stats']))
    return 0


def _free(stats: Mapping[str, int]) -> int:
    limits = [stats['max_avail']]
    if stats.get('quota_bytes'):
        limits.append(stats['quota_bytes'] - stats['stored'])
    if stats.get('quota_objects'):
        objects = stats['quota_objects'] - stats['objects']
        limits.append(objects * layout.DEFAULT_OBJECT_SIZE)
    return int(min(limits))


def load(
    before: Counters, after: Counters, but: Collection[str] = ()
) -> dict[str, float]:
    """Return the load between two readings, per second.

    :param but: pools to exclude
    """
    seconds = max(after.taken - before.taken, 1e-3)
    done = [0, 0]
    for pool, values in after.pools.items():
        if pool not in but:
            start = before.pools.get(pool, (0, 0))
            for place in (0, 1):
                done[place] += max(0, values[place] - start[place])
    return {
        'operations_per_second': done[0] / seconds,
        'bytes_per_second': done[1] / seconds,
    }


def observe(cluster: Any, seconds: float) -> dict[str, Any]:
    """Return the load of a cluster while the benchmark is idle."""
    before = counters(cluster)
    time.sleep(seconds)
    return {
        **load(before, counters(cluster)),
        'client_load_average': os.getloadavg()[0],
        'time': time.strftime('%Y-%m-%d %H:%M:%S %z'),
    }
