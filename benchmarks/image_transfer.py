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

"""Uploads and downloads of our store against the stock one.

    python3 benchmarks/image_transfer.py --conf /etc/ceph/ceph.conf \
        --pool images --user admin [--size 2048] [--runs 3]

Both stores in one run, in turns, with md5 and sha512 as Glance has them:
only the ratios mean anything on another machine. The best of several runs
counts, since what else the machine does can only make them slower. Each
transfer is a process of its own, whose growth in memory is what the transfer
took.

Third in turn is the limit: the least that any store has to do, with nothing
to read, to search or to keep. For an upload that is the two hashes of as many
bytes, on a thread each, while as much is written as isn't zeros; for a
download the reads. ``of at most`` is the ratio of the stock store to that.
Above them stands how fast the machine hashes by itself, and what ``rbd
bench`` writes to the same pool.
"""

import argparse
import collections
from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time
from typing import Any

from glance_store import exceptions
from glance_store import location
from glance_store._drivers import rbd as stock
from oslo_config import cfg
import rados
import rbd

from glance_store_objmap import store

MIB = 1 << 20
STORES = {'stock': stock.Store, 'ours': store.Store}
KINDS = (*STORES, 'limit')
#: Zeros and data alternate in runs of this.
RUN = 8 * MIB
#: The size of a request, as stores have it by default.
PIECE = 8 * MIB
#: Seconds for which Ceph keeps the watch of a client that is gone, and some.
WATCH = 45


class Body:
    """A body that costs next to nothing to make: parts of one random block.

    :param sparse: whether every other run is zeros
    """

    def __init__(self, size: int, sparse: bool) -> None:
        self._block = random.Random(1).randbytes(64 * MIB)  # noqa: S311
        self._zeros = bytes(64 * MIB)
        self._at = 0
        self._size = size
        self._sparse = sparse

    def read(self, wanted: int) -> bytes:
        """Return the next bytes, as a request's body would be read."""
        wanted = min(wanted, self._size - self._at)
        start = self._at % len(self._block)
        wanted = min(wanted, RUN - start % RUN)
        zero = self._sparse and (self._at // RUN) % 2
        self._at += wanted
        source = self._zeros if zero else self._block
        return source[start : start + wanted]


def make(kind: str, args: argparse.Namespace, thin: bool) -> Any:
    """Return a store."""
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.DictOpt('enabled_backends'))
    conf([], default_config_files=[], default_config_dirs=[])
    conf.set_override('enabled_backends', {'s': 'rbd'})
    made = STORES[kind](conf, backend='s')
    for name, value in {
        'rbd_store_pool': args.pool,
        'rbd_store_user': args.user,
        'rbd_store_ceph_conf': args.conf,
        'rbd_thin_provisioning': thin,
    }.items():
        conf.set_override(name, value, group='s')
    if kind == 'ours' and args.depth:
        conf.set_override('rbd_store_write_depth', args.depth, group='s')
        conf.set_override('rbd_store_read_depth', args.depth, group='s')
    made.configure(re_raise_bsc=True)
    return made


def memory(name: str) -> int:
    """Return a figure of this process's memory in MiB: VmRSS, VmHWM."""
    status = pathlib.Path('/proc/self/status').read_text()
    (line,) = (x for x in status.splitlines() if x.startswith(f'{name}:'))
    return int(line.split()[1]) // 1024


class Limit:
    """The least that an upload, or a download, has to do.

    :param what: the transfer that this is the limit of
    """

    def __init__(self, what: str, args: argparse.Namespace) -> None:
        self._size = args.size * MIB
        self._sparse = 'sparse' in what
        self._depth = args.depth or 4
        self._place = args.pool, args.image
        self._block = random.Random(1).randbytes(PIECE)  # noqa: S311
        self._client = rados.Rados(conffile=args.conf, rados_id=args.user)
        self._client.connect()

    def upload(self) -> None:
        """Write and hash one block, again and again."""
        pool, name = self._place
        with (
            self._client.open_ioctx(pool) as ioctx,
            concurrent.futures.ThreadPoolExecutor(2) as threads,
        ):
            hashed = threads.map(self._hash, ('md5', 'sha512'))
            rbd.RBD().create(ioctx, name, self._size, 23, old_format=False)
            with rbd.Image(ioctx, name) as image:
                self._each(
                    2 if self._sparse else 1,
                    lambda at: image.aio_write(self._block, at, _ignore),
                )
                image.create_snap('snap')
                image.protect_snap('snap')
            list(hashed)

    def download(self) -> None:
        """Read an image and forget what was in it."""
        pool, name = self._place
        with (
            self._client.open_ioctx(pool) as ioctx,
            rbd.Image(ioctx, name, read_only=True) as image,
        ):
            self._each(1, lambda at: image.aio_read(at, PIECE, _ignore))

    def _hash(self, name: str) -> None:
        digest = hashlib.new(name)
        for _ in range(self._size // PIECE):
            digest.update(self._block)

    def _each(self, step: int, start: Callable[[int], Any]) -> None:
        in_flight: collections.deque[Any] = collections.deque()
        for at in range(0, self._size, step * PIECE):
            in_flight.append(start(at))
            if len(in_flight) >= self._depth:
                in_flight.popleft().wait_for_complete_and_cb()
        for completion in in_flight:
            completion.wait_for_complete_and_cb()


def _ignore(*_: object) -> None:
    """Do nothing: librbd wants to have somebody to tell."""


def prepared(args: argparse.Namespace) -> Callable[[], object]:
    """Return what does the transfer, with all that costs little before."""
    what, kind = args.transfer.split(':')
    if kind == 'limit':
        limit = Limit(what, args)
        return limit.download if what == 'download' else limit.upload
    made = make(kind, args, 'thin' in what)
    size = args.size * MIB
    place = location.Location(
        'rbd',
        stock.StoreLocation,
        cfg.ConfigOpts(),
        uri=f'rbd://fsid/{args.pool}/{args.image}/snap',
    )
    if what == 'download':
        return lambda: collections.deque(made.get(place)[0], maxlen=0)
    body = Body(size, 'sparse' in what)
    announced = 0 if 'unknown' in what else size
    return lambda: made.add(args.image, body, announced, 'sha512')


def transfer(args: argparse.Namespace) -> dict[str, float]:
    """Upload or download in this process; return how that went."""
    work = prepared(args)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # From here on VmHWM is the peak of the transfer alone.
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    before, began = memory('VmRSS'), time.monotonic()
    work()
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = sum(
        getattr(after, name) - getattr(usage, name)
        for name in ('ru_utime', 'ru_stime')
    )
    return {'seconds': seconds, 'memory': memory('VmHWM') - before, 'cpu': cpu}


def run(
    what: str, kind: str, image: str, args: argparse.Namespace
) -> dict[str, float]:
    """Have another process do a transfer."""
    command = [sys.executable, __file__, '--conf', args.conf]
    command += ['--pool', args.pool, '--user', args.user]
    command += ['--size', str(args.size), '--depth', str(args.depth)]
    command += ['--transfer', f'{what}:{kind}', '--image', image]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=os.environ
    ) as child:
        try:
            shown, _ = child.communicate()
        except BaseException:
            # So that it closes the image: what is open can't be removed.
            child.send_signal(signal.SIGINT)
            raise
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    found: dict[str, float] = json.loads(shown)
    return found


def remove(image: str, args: argparse.Namespace) -> None:
    """Remove an image through the store, if it is there."""
    made = make('ours', args, False)
    deadline = time.monotonic() + WATCH
    while True:
        try:
            made._delete_image(args.pool, image, 'snap')
        except exceptions.NotFound:
            return
        except exceptions.InUseByStore:
            # By a transfer that was killed: its watch expires.
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


@contextlib.contextmanager
def removed(image: str, args: argparse.Namespace) -> Iterator[str]:
    """Remove an image afterwards, however that ends."""
    try:
        yield image
    finally:
        remove(image, args)


def transfers(
    what: str, args: argparse.Namespace
) -> dict[str, list[dict[str, float]]]:
    """Transfer with each store in turn; return how each went."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with contextlib.ExitStack() as stack:
        if what == 'download':
            stack.enter_context(removed('bench-source', args))
            run('upload', 'ours', 'bench-source', args)
        for _ in range(args.runs):
            for kind, results in found.items():
                if what == 'download':
                    results.append(run(what, kind, 'bench-source', args))
                else:
                    with removed(f'bench-{kind}', args) as image:
                        results.append(run(what, kind, image, args))
    return found


def compare(what: str, args: argparse.Namespace) -> None:
    """Print the best transfer of each store."""
    found = transfers(what, args)
    best = {
        (kind, key): min(r[key] for r in results)
        for kind, results in found.items()
        for key in ('seconds', 'memory', 'cpu')
    }
    ratios = [
        best['stock', 'seconds'] / best[kind, 'seconds']
        for kind in ('ours', 'limit')
    ]
    print(
        f'{what:28}'
        + ''.join(
            f'{kind}: {args.size / best[kind, "seconds"]:6.0f} MiB/s '
            f'{best[kind, "cpu"]:5.1f} s CPU '
            f'+{best[kind, "memory"]:4.0f} MiB   '
            for kind in KINDS
        )
        + f'ratio {ratios[0]:.2f} of at most {ratios[1]:.2f}',
        flush=True,
    )


def limits(args: argparse.Namespace) -> None:
    """Print what hashing and the cluster can do by themselves."""
    block = random.Random(1).randbytes(8 * MIB)  # noqa: S311
    blocks = max(1, args.size // 32)

    def rate(name: str) -> float:
        digest = hashlib.new(name)
        began = time.monotonic()
        for _ in range(blocks):
            digest.update(block)
        return blocks * 8 / (time.monotonic() - began)

    alone = {name: rate(name) for name in ('md5', 'sha512')}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = list(pool.map(rate, alone))
    print(
        f'limits: {os.cpu_count()} cores; md5 {alone["md5"]:.0f} MiB/s, '
        f'sha512 {alone["sha512"]:.0f} MiB/s; one after the other '
        f'{1 / sum(1 / r for r in alone.values()):.0f} MiB/s, '
        f'on two threads {min(both):.0f} MiB/s'
    )
    command = ['rbd', '--conf', args.conf, '--id', args.user]
    image = f'{args.pool}/bench-limit'
    subprocess.run([*command, 'create', '--size', '2G', image], check=True)
    try:
        done = subprocess.run(
            [
                *(*command, 'bench', '--io-type', 'write', '--io-size', '8M'),
                *('--io-threads', '4', '--io-total', f'{blocks * 16}M', image),
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    finally:
        subprocess.run([*command, 'rm', '--no-progress', image], check=True)
    print('limits: rbd bench, 4 writes of 8 MiB:', done.stdout.split('\n')[-2])


def main() -> None:
    """Run the comparison, or one transfer of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--conf', required=True)
    parser.add_argument('--pool', default='images')
    parser.add_argument('--user', default='admin')
    parser.add_argument('--size', type=int, default=2048, help='MiB')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--depth', type=int, default=0)
    parser.add_argument(
        '--only', help='run only the parts whose name contains this text'
    )
    parser.add_argument('--transfer', help=argparse.SUPPRESS)
    parser.add_argument('--image', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.transfer:
        print(json.dumps(transfer(args)))
        return
    # An end that is asked for in other ways also removes the images.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('terminated'))
    limits(args)
    for what in (
        'upload',
        'upload-unknown',
        'upload-sparse-thin',
        'upload-sparse-thin-unknown',
        'download',
    ):
        if args.only in (None, what):
            compare(what, args)


if __name__ == '__main__':
    main()
