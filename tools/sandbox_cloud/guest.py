# SPDX-License-Identifier: Apache-2.0

"""Commands for the guest: it reads them from disks and answers on its console.

The first sector of a disk may contain a line, padded with zeros::

    guest, <number> write <MiB> <word>
    guest, <number> read <MiB>
    guest, <number> zero <MiB>
    guest, <number> discard <MiB>

When the line on a disk has changed, the guest executes it and answers on the
serial console::

    guest: vdb <number> wrote <MiB> MiB md5=<checksum>

It writes lines of the word, from the second MiB of the disk on, flushes, drops
its page cache, and computes the checksum of the data that it reads from the
disk. A new number repeats the same command. When a disk appears, the guest
writes its properties::

    guest: vdb size=<bytes> cache=<write-back or write-through>
        sectors=<logical>/<physical> discard=<granularity, or 0> serial=<id>

This is one line.
"""

from __future__ import annotations

from collections.abc import Mapping
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile

from sandbox_cloud import errors

UP = 'guest: up'
_SECTOR = 512
_MIB = 2**20
# Seconds for one sector, on a busy machine.
_LONGEST = 120


def ask(
    image: str, line: str, environ: Mapping[str, str] | None = None
) -> None:
    """Write a line to an RBD image that is a disk of a guest.

    :param image: ``pool/name``
    :param line: the command, from the number on; see the module's docstring
    :param environ: contains CEPH_CONF; by default that of this process
    """
    environ = {**os.environ, **(environ or {})}
    text = f'guest, {line}\n'.encode()
    if len(text) > _SECTOR:
        raise ValueError(f'{line} is longer than a sector')
    with tempfile.TemporaryDirectory() as folder:
        sector = pathlib.Path(folder, 'sector')
        sector.write_bytes(text.ljust(_SECTOR, b'\0'))
        conf = environ['CEPH_CONF']
        done = subprocess.run(
            [
                *('qemu-io', '-f', 'raw', '-t', 'none'),
                *('-c', f'write -s {sector} 0 {_SECTOR}'),
                f'rbd:{image}:id=admin:conf={conf}',
            ],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST,
        )
    if done.returncode or 'failed' in done.stdout:
        raise errors.SandboxError(
            f'qemu-io on {image}: {done.stdout} {done.stderr}'
        )


def answer(console: str, number: str | int) -> str | None:
    """Return the guest's answer to the command with a number.

    :returns: the text after the number; None if there is no answer
    """
    answers = re.findall(rf'^guest: \S+ {number} (.*?)\r?$', console, re.M)
    return str(answers[-1]) if answers else None


def seen(console: str, serial: str) -> dict[str, str] | None:
    """Return the last properties of a disk, by the names of its fields."""
    lines = re.findall(
        rf'^guest: (\S+) (size=.* serial={serial[:20]}.*?)\r?$', console, re.M
    )
    if not lines:
        return None
    disk, fields = lines[-1]
    pairs = (field.partition('=') for field in fields.split())
    return {'disk': disk, **{name: value for name, _, value in pairs}}


def checksum(word: str, mib: int) -> str:
    """Return the MD5 of the data that the guest writes."""
    line = f'{word}\n'.encode()
    size = mib * _MIB
    return checksum_of((line * (size // len(line) + 1))[:size])


def checksum_of(content: bytes) -> str:
    """Return the MD5 of data, as the guest reports it."""
    # MD5 is not used for security; the shell of the guest provides it.
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
