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
from collections.abc import Iterator
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from glance_store import exceptions
import single_transfer

KINDS = tuple(single_transfer.STORES)
#: Seconds for which Ceph keeps the watch of a client that was killed, and a
#: margin.
WATCH = 45


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
    made = single_transfer.make('ours', args, False)
    deadline = time.monotonic() + WATCH
    names = single_transfer.images(image, args)
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
    by_kind: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
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
            for kind in KINDS
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
        print(json.dumps(single_transfer.transfer(args)))
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
