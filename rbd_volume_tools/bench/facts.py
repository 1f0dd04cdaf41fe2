# SPDX-License-Identifier: Apache-2.0

"""Facts about the cluster and the client that affect the results."""

from collections.abc import Mapping
import json
import os
import platform
import socket
import subprocess
import time
from typing import Any

from rbd_volume_options import layout
from rbd_volume_tools.bench import qemu
from rbd_volume_tools.command_line import ceph_options

#: Options of the client that affect the results.
OPTIONS = (*ceph_options.NAMES, 'ms_async_op_threads')


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
        'osds': status['osdmap']['num_up_osds'],
        'hosts': len(hosts),
        'client_is_osd_host': socket.gethostname() in hosts,
        'devices': _counted(metadata, 'bluestore_bdev_type'),
        'object_stores': _counted(metadata, 'osd_objectstore'),
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


def _version(program: str) -> str:
    """Return the first line of the output of a program."""
    try:
        shown = subprocess.run(
            [program, '--version'], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return 'not installed'
    return shown.partition('\n')[0].strip()


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


def _done(cluster: Any) -> int:
    """Return the operations that clients of all pools have performed."""
    pools = command(cluster, 'df', detail='detail')['pools']
    return sum(x['stats']['rd'] + x['stats']['wr'] for x in pools)


def observe(cluster: Any, seconds: float) -> dict[str, Any]:
    """Return the load of a cluster while the benchmark is idle."""
    before = _done(cluster)
    time.sleep(seconds)
    return {
        'operations_per_second': round((_done(cluster) - before) / seconds, 1),
        'client_load_average': round(os.getloadavg()[0], 1),
        'time': time.strftime('%Y-%m-%d %H:%M:%S %z'),
    }
