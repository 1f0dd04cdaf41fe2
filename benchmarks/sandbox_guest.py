# SPDX-License-Identifier: Apache-2.0

"""A server of the sandbox, in which fio reads and writes volumes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import pathlib
import re
import subprocess
import time
from typing import Any
import uuid

import openstack
import rados
import rbd

from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench.guest import api
from rbd_volume_tools.bench.guest import cloud
from rbd_volume_tools.bench.guest import job

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIB = 2**20
#: The part of each volume that fio reads and writes.
SIZE = 64 * MIB
POOL = 'volumes'
_LATE = 300.0


@contextlib.contextmanager
def boot_image(connection: Any, name: str, path: str) -> Iterator[str]:
    """Yield the name of a Glance image with the content of a file."""
    with pathlib.Path(path).open('rb') as content:
        made = connection.image.create_image(
            name=name,
            disk_format='raw',
            container_format='bare',
            data=content,
            allow_duplicates=True,
        )
    try:
        yield made.id
    finally:
        connection.image.delete_image(made.id)


@contextlib.contextmanager
def volume_type(connection: Any, **extra_specs: str) -> Iterator[str]:
    """Yield the name of a volume type; ``rbd_x`` stands for ``rbd:x``."""
    made = connection.block_storage.create_type(
        name=f'bench-{uuid.uuid4().hex[:8]}',
        extra_specs={
            'volume_backend_name': 'rbd',
            **{f'rbd:{k[4:]}': v for k, v in extra_specs.items()},
        },
    )
    try:
        yield made.name
    finally:
        connection.block_storage.delete_type(made.id)


@contextlib.contextmanager
def pool() -> Iterator[Any]:
    """Yield a context of the pool of volumes."""
    with (
        rados.Rados(conffile=os.environ['CEPH_CONF'], rados_id='admin') as to,
        to.open_ioctx(POOL) as ioctx,
    ):
        yield ioctx


class Guest:
    """A running server and its volumes.

    :param ioctx: a context of the pool
    """

    def __init__(self, connection: Any, image: str, ioctx: Any) -> None:
        self.name = f'{images.PREFIX}{uuid.uuid4().hex[:8]}'
        self._connection = connection
        self._image = image
        self._ioctx = ioctx
        self._number = 0
        self._server = ''
        self._cloud = self._of_type(None)

    def _of_type(self, volume_type: str | None) -> cloud.Cloud:
        wanted = cloud.Wanted(
            self._image, 'small', volume_type=volume_type, user_data=False
        )
        return cloud.Cloud(self._connection, wanted, 'bench')

    def boot(self) -> None:
        """Boot the server."""
        self._cloud.check()
        self._server = str(self._cloud.boot(self.name, b'')['id'])
        api.wait(
            lambda: re.search(r'^[\w-]+: ready\r?$', self.console(), re.M),
            'the guest is not ready',
        )

    def console(self) -> str:
        """Return the end of the console."""
        return self._cloud.console(self._server)

    def remove(self) -> None:
        """Remove the server and the volumes."""
        self._cloud.remove(self.name)

    def attached(
        self,
        volume_type: str,
        metadata: Mapping[str, str] | None = None,
        gib: int = 1,
    ) -> str:
        """Create and attach a volume; return its ID."""
        place = self._of_type(volume_type)
        volume = place.create_volume(self.name, gib, metadata or {})
        self.attach(volume)
        return volume

    def attach(self, volume: str) -> None:
        """Attach a volume."""
        self._cloud.attach(self._server, volume)

    def detach(self, volume: str) -> None:
        """Detach a volume."""
        self._cloud.detach(self._server, volume)

    def set_metadata(self, volume: str, **values: str) -> None:
        """Replace the ``rbd:`` keys of a volume."""
        metadata = {f'rbd:{k}': v for k, v in values.items()}
        path = f'/volumes/{volume}/metadata'
        storage = self._connection.block_storage
        kept = {cloud.POOL: 'bench'}
        api.request(storage, 'PUT', path, {'metadata': {**kept, **metadata}})

    def write(self, volume: str, content: bytes) -> None:
        """Write to the beginning of a volume."""
        with rbd.Image(self._ioctx, f'volume-{volume}') as image:
            image.write(content, 0)

    def start(self, volume: str, work: plan.Workload, runtime: int) -> int:
        """Begin to send requests; return the number of the job."""
        self._number += 1
        settings = plan.Settings(2, runtime, 1, SIZE)
        self.write(volume, job.encode(self._number, work, settings))
        return self._number

    def answer(self, number: int) -> job.Answer:
        """Wait for the results of a job."""
        answer: job.Answer = api.wait(
            lambda: job.answer(self.console(), number),
            'the guest has written no results',
            _LATE,
        )
        return answer

    def measure(
        self, volume: str, work: plan.Workload, runtime: int
    ) -> job.Answer:
        """Send requests; return the results."""
        number = self.start(volume, work, runtime)
        time.sleep(runtime)
        return self.answer(number)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that all benchmarks in a guest have."""
    parser.add_argument(
        '--image',
        help='file of the boot image (default: from tools/sandbox '
        'guest-image; that needs the network, which a sandbox with a name '
        'does not have)',
    )
    parser.add_argument('--json', help='file for the results')


@contextlib.contextmanager
def running(path: str | None) -> Iterator[Guest]:
    """Yield a guest; remove it afterwards.

    :param path: the file of the boot image, if it exists
    """
    connection = openstack.connect()
    path = (
        path
        or subprocess.run(
            [str(ROOT / 'tools/sandbox'), 'guest-image', '--with-fio'],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.strip()
    )
    with (
        pool() as ioctx,
        boot_image(connection, 'bench-fio', path) as image,
    ):
        guest = Guest(connection, image, ioctx)
        try:
            guest.boot()
            yield guest
        finally:
            guest.remove()
