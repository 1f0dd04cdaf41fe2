# SPDX-License-Identifier: Apache-2.0

"""Change the limits of many volumes by one command, some of them in use.

    OS_CLOUD=admin python3 benchmarks/type_limits.py --volumes 1000

``cinder-rbd-ext types ensure`` makes two volume types with limits for each GiB
from a YAML file. ``cinder-rbd-ext retype`` moves all volumes of the first type
to the second at a rate; ``types apply`` then restores limits that were removed
from the RBD images. The limits of all images are compared afterwards, and fio
in a server measures those of three attached volumes. It runs in a sandbox, and
removes what it has created.
"""

import argparse
from collections.abc import Iterator
from concurrent import futures
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any
import uuid

_ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / 'tools')]

import openstack  # noqa: E402
import rbd  # noqa: E402
import sandbox_guest  # noqa: E402

from rbd_bench import workload  # noqa: E402
from rbd_bench.guest import api  # noqa: E402

_TYPES = """\
{0}:
  volume_backend_name: rbd
  rbd:iops_limit_per_gib: 40
  rbd:iops_limit_maximum: 5000
{1}:
  volume_backend_name: rbd
  rbd:iops_limit_per_gib: 60
  rbd:iops_limit_maximum: 5000
"""
_PER_GIB = (40, 60)
_SIZES = (1, 2, 3, 4)
_ATTACHED = _SIZES[:3]
_KEY = 'conf_rbd_qos_iops_limit'
_AT_ONCE = 16
_WORK = workload.Workload('4 KiB writes', 'randwrite', 4096, 32)


class Volumes:
    """The volumes of the benchmark, by ID, and their sizes in GiB."""

    def __init__(self, name: str) -> None:
        self._storage = openstack.connect().block_storage
        self._storage.get('/types')
        self._name = name
        self._workers = futures.ThreadPoolExecutor(_AT_ONCE)
        self.sizes: dict[str, int] = {}

    def create(self, number: int, volume_type: str) -> None:
        """Create volumes of a type, with several sizes in turn."""

        def one(place: int) -> None:
            size = _SIZES[place % len(_SIZES)]
            body = {
                'name': self._name,
                'volume_type': volume_type,
                'size': size,
            }
            ident = self._request('POST', '/volumes', {'volume': body})[
                'volume'
            ]['id']
            self.sizes[ident] = size
            api.wait(lambda: self._status(ident) == 'available', ident)

        list(self._workers.map(one, range(number)))

    def one_of_each_size(self) -> dict[int, str]:
        """Return the IDs of volumes of the sizes that are attached."""
        by_size = {size: ident for ident, size in self.sizes.items()}
        return {size: by_size[size] for size in _ATTACHED}

    def _request(self, *words: Any, **more: Any) -> api.Record:
        return api.request(self._storage, *words, **more)

    def _status(self, ident: str) -> str:
        status = self._request('GET', f'/volumes/{ident}')['volume']['status']
        if status.startswith('error'):
            raise RuntimeError(f'volume {ident} is in {status}')
        return str(status)

    def remove(self) -> None:
        """Remove the volumes."""

        def one(ident: str) -> None:
            path = f'/volumes/{ident}'
            api.wait(lambda: self._status(ident) != 'in-use', ident)
            self._request('DELETE', path, missing=True)
            api.wait(lambda: not self._request('GET', path, missing=True), '')

        list(self._workers.map(one, list(self.sizes)))

    def wrong(self, ioctx: Any, per_gib: int) -> int:
        """Return how many images do not have the limit of their size."""
        number = 0
        for ident, size in self.sizes.items():
            with rbd.Image(ioctx, f'volume-{ident}', read_only=True) as image:
                entries = dict(image.metadata_list())
            number += entries.get(_KEY) != str(per_gib * size)
        return number

    def remove_limits(self, ioctx: Any) -> None:
        """Remove the limits from the images, as an operator could."""
        for ident in self.sizes:
            with rbd.Image(ioctx, f'volume-{ident}') as image:
                image.metadata_remove(_KEY)


def command(*words: str) -> tuple[float, list[dict[str, Any]]]:
    """Run ``cinder-rbd-ext``; return the seconds and its rows.

    :raises CalledProcessError: if it fails
    """
    began = time.monotonic()
    done = subprocess.run(
        ['cinder-rbd-ext', *words, '-f', 'json'],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return time.monotonic() - began, json.loads(done.stdout)


@contextlib.contextmanager
def two_types() -> Iterator[list[str]]:
    """Yield the names of two types from a YAML file."""
    names = [f'bench-{uuid.uuid4().hex[:8]}' for _ in _PER_GIB]
    storage = openstack.connect().block_storage
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
        file.write(_TYPES.format(*names))
        file.flush()
        command('types', 'ensure', '--file', file.name)
    try:
        yield names
    finally:
        for name in names:
            storage.delete_type(storage.find_type(name, ignore_missing=False))


def show_guest(
    guest: sandbox_guest.Guest, volumes: Volumes, per_gib: int
) -> None:
    """Measure the attached volumes and print their rates."""
    for size, ident in volumes.one_of_each_size().items():
        rate = guest.measure(ident, _WORK, 10).figures.rate
        limit = per_gib * size
        print(
            f'attached, {size} GiB, limit {limit}: {rate:.1f} requests per '
            f'second ({rate / limit - 1:+.1%})',
            flush=True,
        )


def main() -> int:
    """Change the volumes; print durations and results."""
    # SIGTERM removes the server and the volumes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--volumes', type=int, default=1000)
    parser.add_argument('--rate', type=int, default=600, help='in a minute')
    sandbox_guest.add_arguments(parser)
    args = parser.parse_args()
    rate = ('--rate', str(args.rate))
    with contextlib.ExitStack() as stack:
        former, target = stack.enter_context(two_types())
        volumes = Volumes('bench-type-limits')
        stack.callback(volumes.remove)
        began = time.monotonic()
        volumes.create(args.volumes, former)
        seconds = time.monotonic() - began
        print(f'{args.volumes} volumes in {seconds:.0f} s', flush=True)
        ioctx = stack.enter_context(sandbox_guest.pool())
        wrong = {'former': volumes.wrong(ioctx, _PER_GIB[0])}
        guest = stack.enter_context(sandbox_guest.running(args.image))
        for ident in volumes.one_of_each_size().values():
            guest.attach(ident)
        show_guest(guest, volumes, _PER_GIB[0])
        retyping, rows = command(
            *('retype', '--from', former, '--to', target, *rate),
            *('--migration-policy', 'never', '--ceph-user', 'admin'),
        )
        done = sum(row['Status'] == 'done' for row in rows)
        wrong['target'] = volumes.wrong(ioctx, _PER_GIB[1])
        print(f'retype: {done} of {len(rows)} done in {retyping:.0f} s')
        show_guest(guest, volumes, _PER_GIB[1])
        volumes.remove_limits(ioctx)
        applying, rows = command('types', 'apply', target, *rate)
        wrong['applied'] = volumes.wrong(ioctx, _PER_GIB[1])
        print(f'types apply: {len(rows)} failed, {applying:.0f} s')
        show_guest(guest, volumes, _PER_GIB[1])
        print(f'images with other limits than their volumes: {wrong}')
    if args.json:
        results = {
            'retyped': done,
            'wrong': wrong,
            'seconds': {'retype': retyping, 'apply': applying},
        }
        pathlib.Path(args.json).write_text(json.dumps(results))
    return 0


if __name__ == '__main__':
    sys.exit(main())
