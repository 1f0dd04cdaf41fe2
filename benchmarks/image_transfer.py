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
took. Beside them stand the limits of the machine: how fast it hashes, and
what ``rbd bench`` writes to the same pool.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import time
from typing import Any

from glance_store import location
from glance_store._drivers import rbd as stock
from oslo_config import cfg

from glance_store_objmap import store

MIB = 1 << 20
KINDS = {'stock': stock.Store, 'ours': store.Store}
#: Zeros and data alternate in runs of this.
RUN = 64 * MIB


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
        start = self._at % RUN
        wanted = min(wanted, RUN - start)
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
    made = KINDS[kind](conf, backend='s')
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


def transfer(args: argparse.Namespace) -> dict[str, float]:
    """Upload or download in this process; return how that went."""
    what, kind = args.transfer.split(':')
    made = make(kind, args, 'thin' in what)
    size = args.size * MIB
    place = location.Location(
        'rbd',
        stock.StoreLocation,
        cfg.ConfigOpts(),
        uri=f'rbd://fsid/{args.pool}/{args.image}/snap',
    )
    body = Body(size, 'sparse' in what)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # From here on VmHWM is the peak of the transfer alone.
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    before, began = memory('VmRSS'), time.monotonic()
    if what == 'download':
        for _ in made.get(place)[0]:
            pass
    else:
        announced = 0 if 'unknown' in what else size
        made.add(args.image, body, announced, 'sha512')
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
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, env=os.environ
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def remove(image: str, args: argparse.Namespace) -> None:
    """Remove an image through the store."""
    made = make('ours', args, False)
    made._delete_image(args.pool, image, 'snap')


def compare(what: str, args: argparse.Namespace) -> None:
    """Transfer with each store in turn, and print the best of each."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    if what == 'download':
        run('upload', 'ours', 'bench-source', args)
    for _ in range(args.runs):
        for kind, results in found.items():
            image = 'bench-source' if what == 'download' else f'bench-{kind}'
            results.append(run(what, kind, image, args))
            if what != 'download':
                remove(image, args)
    if what == 'download':
        remove('bench-source', args)
    best = {
        (kind, key): min(r[key] for r in results)
        for kind, results in found.items()
        for key in ('seconds', 'memory', 'cpu')
    }
    ratio = best['stock', 'seconds'] / best['ours', 'seconds']
    print(
        f'{what:28}'
        + ''.join(
            f'{kind}: {args.size / best[kind, "seconds"]:6.0f} MiB/s '
            f'{best[kind, "cpu"]:5.1f} s CPU '
            f'+{best[kind, "memory"]:4.0f} MiB   '
            for kind in KINDS
        )
        + f'ratio {ratio:.2f}',
        flush=True,
    )


def limits(args: argparse.Namespace) -> None:
    """Print what hashing and the cluster can do by themselves."""
    block = random.Random(1).randbytes(8 * MIB)  # noqa: S311

    def rate(name: str) -> float:
        digest = hashlib.new(name)
        began = time.monotonic()
        for _ in range(64):
            digest.update(block)
        return 512 / (time.monotonic() - began)

    alone = {name: rate(name) for name in ('md5', 'sha512')}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = list(pool.map(rate, alone))
    print(
        f'limits: {os.cpu_count()} cores; md5 {alone["md5"]:.0f} MiB/s, '
        f'sha512 {alone["sha512"]:.0f} MiB/s; one after the other '
        f'{1 / sum(1 / r for r in alone.values()):.0f} MiB/s, '
        f'on two threads {min(both):.0f} MiB/s'
    )
    rbd = ['rbd', '--conf', args.conf, '--id', args.user]
    image = f'{args.pool}/bench-limit'
    subprocess.run([*rbd, 'create', '--size', '2G', image], check=True)
    try:
        done = subprocess.run(
            [
                *(*rbd, 'bench', '--io-type', 'write', '--io-size', '8M'),
                *('--io-threads', '4', '--io-total', '1G', image),
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    finally:
        subprocess.run([*rbd, 'rm', '--no-progress', image], check=True)
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
    parser.add_argument('--only', help='run only what has this in its name')
    parser.add_argument('--transfer', help=argparse.SUPPRESS)
    parser.add_argument('--image', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.transfer:
        print(json.dumps(transfer(args)))
        return
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
