# SPDX-License-Identifier: Apache-2.0

"""One transfer of image_transfer.py, in a separate process."""

import argparse
import collections
from collections.abc import Callable
import concurrent.futures
import functools
import pathlib
import random
import resource
import time
from typing import Any

from glance_store import location
from glance_store._drivers import rbd as stock
from oslo_config import cfg

from glance_store_objmap import store

MIB = 1 << 20
STORES = {'stock': stock.Store, 'ours': store.Store}
#: The bytes of zeros, and of data, that alternate in a sparse body.
RUN = 8 * MIB


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
