# SPDX-License-Identifier: Apache-2.0

"""Compare uploads and downloads of our store and the stock store.

    python3 benchmarks/image_transfer.py --conf /etc/ceph/ceph.conf \
        --pool images --user admin [--size 2048] [--runs 5] [--at-once 32]

The stores run in turns and compute md5 and sha512, as in Glance. The times
depend on the machine. Compare only the ratios with those of other machines.
The best of several runs counts, because other load can only make a run slower.
Each transfer runs in a separate process; the growth of its memory is the
memory that the transfer used.

With ``--at-once``, each process runs this number of transfers of ``--size`` at
the same time.
"""

import argparse
import collections
from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures
import contextlib
import functools
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

from glance_store_objmap import store

MIB = 1 << 20
STORES = {'stock': stock.Store, 'ours': store.Store}
#: The bytes of zeros, and of data, that alternate in a sparse body.
RUN = 8 * MIB
#: Seconds for which Ceph keeps the watch of a client that was killed, and a
#: margin.
WATCH = 45


@functools.cache
def block(size: int) -> bytes:
    """Return random bytes, which concurrent transfers share."""
    return random.Random(1).randbytes(size)  # noqa: S311


class Body:
    """The body of an upload, from parts of one random block to save time.

    :param sparse: whether zeros and data alternate
    """

    def __init__(self, size: int, sparse: bool) -> None:
        self._block = block(64 * MIB)
        self._zeros = bytes(64 * MIB)
        self._at = 0
        self._size = size
        self._sparse = sparse

    def read(self, wanted: int) -> bytes:
        """Return the next bytes, like the body of a request."""
        wanted = min(wanted, self._size - self._at)
        start = self._at % len(self._block)
        wanted = min(wanted, RUN - start % RUN)
        zero = self._sparse and (self._at // RUN) % 2
        self._at += wanted
        source = self._zeros if zero else self._block
        return source[start : start + wanted]


def make(kind: str, args: argparse.Namespace, thin: bool) -> Any:
    """Create a store and configure it."""
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
    """Return VmRSS or VmHWM of this process in MiB."""
    status = pathlib.Path('/proc/self/status').read_text()
    (line,) = (x for x in status.splitlines() if x.startswith(f'{name}:'))
    return int(line.split()[1]) // 1024


def images(image: str, args: argparse.Namespace) -> list[str]:
    """Return the names of the images that are transferred at the same time."""
    return [f'{image}-{n}' for n in range(args.at_once)]


def prepared(args: argparse.Namespace, image: str) -> Callable[[], object]:
    """Prepare a transfer; return a function that runs it."""
    what, kind = args.transfer.split(':')
    made = make(kind, args, 'thin' in what)
    size = args.size * MIB
    place = location.Location(
        'rbd',
        stock.StoreLocation,
        cfg.ConfigOpts(),
        uri=f'rbd://fsid/{args.pool}/{image}/snap',
    )
    if what == 'download':
        return lambda: collections.deque(made.get(place)[0], maxlen=0)
    body = Body(size, 'sparse' in what)
    announced = 0 if 'unknown' in what else size
    return lambda: made.add(image, body, announced, 'sha512')


def transfer(args: argparse.Namespace) -> dict[str, float]:
    """Upload or download in this process; return time and memory."""
    works = [prepared(args, image) for image in images(args.image, args)]
    threads = concurrent.futures.ThreadPoolExecutor(len(works))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # From here on, VmHWM is the peak of the transfer only.
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    before, began = memory('VmRSS'), time.monotonic()
    for done in [threads.submit(work) for work in works]:
        done.result()
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
    """Run a transfer in another process."""
    command = [sys.executable, __file__, '--conf', args.conf]
    command += ['--pool', args.pool, '--user', args.user]
    command += ['--size', str(args.size), '--depth', str(args.depth)]
    command += ['--at-once', str(args.at_once)]
    command += ['--transfer', f'{what}:{kind}', '--image', image]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=os.environ
    ) as child:
        try:
            shown, _ = child.communicate()
        except BaseException:
            # Let the process close the image. An open image cannot be removed.
            child.send_signal(signal.SIGINT)
            # After Ctrl-C, Popen itself waits only a quarter of a second.
            child.wait()
            raise
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    seconds: dict[str, float] = json.loads(shown)
    return seconds


def remove(image: str, args: argparse.Namespace) -> None:
    """Remove the images that were uploaded, if they exist."""
    made = make('ours', args, False)
    deadline = time.monotonic() + WATCH
    names = images(image, args)
    while names:
        try:
            made._delete_image(args.pool, names[-1], 'snap')
        except exceptions.NotFound:
            names.pop()
        except exceptions.InUseByStore:
            # A killed transfer may still watch the image. Its watch expires.
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


@contextlib.contextmanager
def removed(image: str, args: argparse.Namespace) -> Iterator[str]:
    """Remove an image at the end of the context, also after an error."""
    try:
        yield image
    finally:
        remove(image, args)


def transfers(
    what: str, args: argparse.Namespace
) -> dict[str, list[dict[str, float]]]:
    """Transfer with each store in turn; return the figures of each run."""
    by_kind: dict[str, list[dict[str, float]]] = {kind: [] for kind in STORES}
    with contextlib.ExitStack() as stack:
        if what == 'download':
            stack.enter_context(removed('bench-source', args))
            run('upload', 'ours', 'bench-source', args)
        for _ in range(args.runs):
            for kind, results in by_kind.items():
                if what == 'download':
                    results.append(run(what, kind, 'bench-source', args))
                else:
                    with removed(f'bench-{kind}', args) as image:
                        results.append(run(what, kind, image, args))
    return by_kind


def compare(what: str, args: argparse.Namespace) -> None:
    """Print the best transfer of each store."""
    by_kind = transfers(what, args)
    best = {
        (kind, key): min(r[key] for r in results)
        for kind, results in by_kind.items()
        for key in ('seconds', 'memory', 'cpu')
    }
    total = args.size * args.at_once
    ratio = best['stock', 'seconds'] / best['ours', 'seconds']
    print(
        f'{what:28}'
        + ''.join(
            f'{kind}: {total / best[kind, "seconds"]:6.0f} MiB/s '
            f'{best[kind, "cpu"]:5.1f} s CPU '
            f'+{best[kind, "memory"]:4.0f} MiB   '
            for kind in STORES
        )
        + f'ratio {ratio:.2f}',
        flush=True,
    )


def main() -> None:
    """Run the comparison, or one transfer of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--conf', required=True)
    parser.add_argument('--pool', default='images')
    parser.add_argument('--user', default='admin')
    parser.add_argument('--size', type=int, default=2048, help='MiB')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--depth', type=int, default=0)
    parser.add_argument('--at-once', type=int, default=1)
    parser.add_argument(
        '--only', help='run only the parts whose name contains this text'
    )
    parser.add_argument('--transfer', help=argparse.SUPPRESS)
    parser.add_argument('--image', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.transfer:
        print(json.dumps(transfer(args)))
        return
    # SIGTERM also removes the images.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('terminated'))
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
