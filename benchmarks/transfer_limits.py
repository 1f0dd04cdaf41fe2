# SPDX-License-Identifier: Apache-2.0

"""The limits of the transfers of image_transfer.py: hashes and the cluster."""

import argparse
import collections
from collections.abc import Callable
import concurrent.futures
import functools
import hashlib
import os
import random
import subprocess
import time
from typing import Any

import rados
import rbd

MIB = 1 << 20
#: The default size of a request of the stock store.
PIECE = 8 * MIB


@functools.cache
def block(size: int) -> bytes:
    """Return random bytes, which concurrent transfers share."""
    return random.Random(1).randbytes(size)  # noqa: S311


class Limit:
    """The minimal work of an upload or a download.

    :param what: the kind of transfer
    """

    def __init__(
        self, what: str, image: str, args: argparse.Namespace
    ) -> None:
        self._size = args.size * MIB
        self._sparse = 'sparse' in what
        self._depth = args.depth or 4
        self._place = args.pool, image
        self._block = block(PIECE)
        self._client = rados.Rados(conffile=args.conf, rados_id=args.user)
        self._client.connect()

    def upload(self) -> None:
        """Write and hash one block repeatedly."""
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
        """Read an image and discard the data."""
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
    """Do nothing; librbd requires a callback."""


def show(args: argparse.Namespace) -> None:
    """Print the speed of hashing and of the cluster without a store."""
    data = block(8 * MIB)
    blocks = max(1, args.size // 32)

    def rate(name: str) -> float:
        digest = hashlib.new(name)
        began = time.monotonic()
        for _ in range(blocks):
            digest.update(data)
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
