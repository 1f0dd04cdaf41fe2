# SPDX-License-Identifier: Apache-2.0

"""QEMU's block layer, without a guest.

``qemu-storage-daemon`` opens the image with the same driver and the same
flags as QEMU does for a guest, and exports it on a Unix socket (NBD), on
which fio sends requests.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import pathlib
import subprocess
import time

from rbd_volume_options.families import cache_modes
from rbd_volume_tools.bench import processes

PROGRAM = 'qemu-storage-daemon'
_START = 30.0
_ABORT = 'nbd_blockdev_client_closed'
_NO_THREAD = (
    'the NBD server of this version of QEMU aborts if the disk has an I/O '
    'thread and a client disconnects'
)
#: What the daemon does not support, in the terms of libvirt's documentation.
_MODES: Mapping[cache_modes.CacheMode, tuple[bool, bool, bool]] = {
    # direct, no flush, write through
    cache_modes.CacheMode.NONE: (True, False, False),
    cache_modes.CacheMode.WRITETHROUGH: (False, False, True),
    cache_modes.CacheMode.WRITEBACK: (False, False, False),
    cache_modes.CacheMode.DIRECTSYNC: (True, False, True),
    cache_modes.CacheMode.UNSAFE: (False, True, False),
}


@dataclasses.dataclass(frozen=True)
class Disk:
    """An image, as QEMU opens it.

    :ivar conf: path of its ceph.conf
    """

    pool: str
    image: str
    conf: pathlib.Path
    user: str
    mode: cache_modes.CacheMode
    io_thread: bool

    def command(self, socket: pathlib.Path) -> list[str]:
        """Return the command line of the daemon that exports the disk."""
        direct, no_flush, through = (
            'on' if each else 'off' for each in _MODES[self.mode]
        )
        thread = ',iothread=thread' if self.io_thread else ''
        return [
            PROGRAM,
            *(['--object', 'iothread,id=thread'] if self.io_thread else []),
            '--blockdev',
            f'driver=rbd,node-name=disk,pool={self.pool},image={self.image},'
            f'conf={_escaped(self.conf)},user={self.user},'
            f'cache.direct={direct},cache.no-flush={no_flush}',
            '--nbd-server',
            f'addr.type=unix,addr.path={_escaped(socket)}',
            '--export',
            'type=nbd,id=export,node-name=disk,name=disk,writable=on,'
            f'writethrough={through}{thread}',
        ]


def _escaped(path: pathlib.Path) -> str:
    return str(path).replace(',', ',,')


def engine(socket: pathlib.Path) -> list[str]:
    """Return the options of fio's engine."""
    return ['--ioengine=nbd', f'--uri=nbd+unix:///disk?socket={socket}']


@contextlib.contextmanager
def exported(
    disk: Disk, env: Mapping[str, str], folder: pathlib.Path
) -> Iterator[tuple[pathlib.Path, 'subprocess.Popen[bytes]']]:
    """Yield the socket on which a disk is available, and the daemon.

    :param folder: for the socket; its path must be short
    :raises processes.EngineError: if the daemon does not start, or ends before
        the context
    """
    socket, messages = folder / 'nbd', folder / 'qemu.log'
    socket.unlink(missing_ok=True)
    with processes.running(disk.command(socket), env, messages) as child:
        _wait(child, socket, messages)
        try:
            yield socket, child
        except processes.EngineError:
            _check(child, messages)
            raise
        _check(child, messages)


def _wait(
    child: 'subprocess.Popen[bytes]',
    socket: pathlib.Path,
    messages: pathlib.Path,
) -> None:
    limit = time.monotonic() + _START
    while not socket.exists():
        _check(child, messages)
        if time.monotonic() > limit:
            raise processes.EngineError(
                f'{PROGRAM} did not start within {_START:.0f} seconds'
            )
        time.sleep(0.05)


def _check(child: 'subprocess.Popen[bytes]', messages: pathlib.Path) -> None:
    """Raise an error if the daemon has ended."""
    # The daemon ends a moment after its client.
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(0.1)
    if child.returncode is None:
        return
    error = processes.failure(child, messages)
    if _ABORT in str(error):
        raise processes.EngineError(_NO_THREAD) from error
    raise error
