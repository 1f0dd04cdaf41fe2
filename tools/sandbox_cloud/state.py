# SPDX-License-Identifier: Apache-2.0

"""The folder of a sandbox, and its persistent state."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import fcntl
import os
import pathlib
import secrets
import shutil
import uuid

from sandbox_cloud import errors

# The checkout that this file is part of.
CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
#: The file that shows tools/sandbox which folders it may remove.
SIGN = '.rbd-sandbox'
# The longest socket path of the sandbox, that of a guest's disk, with the
# largest process number and the highest address.
_DEEPEST_SOCKET = 'run/librbd/4194304.140737488355327.asok'
# sun_path has 108 bytes, including the terminating NUL.
SOCKET_PATH_MAX = 107


def default_root() -> pathlib.Path:
    """Return the state folder according to the environment and XDG."""
    if chosen := os.environ.get('RBD_SANDBOX_STATE'):
        return pathlib.Path(chosen).resolve()
    base = os.environ.get('XDG_STATE_HOME') or '~/.local/state'
    return pathlib.Path(base).expanduser().resolve() / 'rbd-sandbox'


def releases() -> list[str]:
    """Return the OpenStack releases with constraints, oldest first."""
    return sorted(
        path.stem for path in (CHECKOUT / 'constraints').glob('2*.txt')
    )


def write_private(path: pathlib.Path, text: str, mode: int = 0o600) -> None:
    """Write a file in one step that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f'.{path.name}.new')
    draft.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(draft, flags, mode), 'w') as out:
        out.write(text)
    draft.replace(path)


class State:
    """The state folder: tools, venvs and one run of the cloud."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.run = root / 'run'
        self.boot = root / 'boot'
        self.etc = self.run / 'etc'
        self.log = self.run / 'log'
        self.data = self.run / 'data'
        self.bin = self.run / 'bin'
        self.uv_cache = root / 'uv-cache'

    @property
    def exists(self) -> bool:
        """Whether a cloud was ever started in this folder."""
        return self.run.is_dir()

    def venv(self, release: str) -> pathlib.Path:
        """Return the folder of a release's virtual environment."""
        return self.root / f'venv-{release}'

    def check(self) -> None:
        """Raise an error if this folder cannot be used."""
        longest = len(os.fsencode(self.root / _DEEPEST_SOCKET))
        if longest > SOCKET_PATH_MAX:
            raise errors.SandboxError(
                f'The state folder {self.root} has too long a path: a Unix '
                f'socket path has at most {SOCKET_PATH_MAX} bytes, and '
                f'{_DEEPEST_SOCKET} below it would make {longest}. Set '
                'RBD_SANDBOX_STATE to a shorter one.'
            )

    def make(self) -> None:
        """Create the folders."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        for folder in (self.run, self.etc, self.log, self.data, self.bin):
            folder.mkdir(mode=0o700, exist_ok=True)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Allow one command at a time to change the sandbox; others wait."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / 'lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def once(self, name: str, action: Callable[[], None]) -> None:
        """Run an action, unless it has already succeeded in this run."""
        marker = self.run / 'done' / name
        if not marker.exists():
            action()
            marker.parent.mkdir(exist_ok=True)
            marker.touch()

    @property
    def release(self) -> str | None:
        """The release of the run, None if there is none."""
        with contextlib.suppress(FileNotFoundError):
            return (self.run / 'release').read_text().strip()
        return None

    @release.setter
    def release(self, value: str) -> None:
        (self.run / 'release').write_text(f'{value}\n')

    @property
    def platform(self) -> str | None:
        """The release of Debian, None if it is the machine's.

        The script tools/sandbox writes the file.
        """
        with contextlib.suppress(FileNotFoundError):
            return (self.root / 'platform').read_text().strip()
        return None

    @property
    def computes(self) -> int:
        """The number of compute hosts of the run."""
        with contextlib.suppress(FileNotFoundError):
            return int((self.run / 'computes').read_text())
        return 1

    @computes.setter
    def computes(self, value: int) -> None:
        (self.run / 'computes').write_text(f'{value}\n')

    @property
    def libvirt(self) -> str:
        """The release of Debian of the first host's libvirt; empty for ours.

        It can change while the cloud is up.
        """
        with contextlib.suppress(FileNotFoundError):
            return (self.run / 'libvirt').read_text().strip()
        return ''

    @libvirt.setter
    def libvirt(self, value: str) -> None:
        (self.run / 'libvirt').write_text(f'{value}\n')

    @property
    def osds(self) -> int:
        """The number of OSDs of the run."""
        with contextlib.suppress(FileNotFoundError):
            return int((self.run / 'osds').read_text())
        return 1

    def set_osds(self, value: int) -> None:
        """Set the number of OSDs.

        :raises sandbox_cloud.errors.SandboxError: if the run has another
        """
        if value != self.osds and (self.run / 'ceph').exists():
            raise errors.SandboxError(
                f'The cloud has {self.osds} OSDs. To start one with {value}, '
                'first run: tools/sandbox down'
            )
        (self.run / 'osds').write_text(f'{value}\n')

    def secret(self, name: str) -> str:
        """Return the sandbox's secret of this name; create it if new."""
        path = self.run / 'secrets' / name
        with contextlib.suppress(FileNotFoundError):
            return path.read_text()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # 32 bytes in hex: suitable as a password and as a 256-bit key.
        write_private(path, secrets.token_hex(32))
        return path.read_text()

    def uuid(self, name: str) -> uuid.UUID:
        """Return the sandbox's UUID of this name; create it if new."""
        return uuid.UUID(self.secret(name)[:32])

    def remove(self, keep_venv: bool) -> None:
        """Remove the run, and by default the whole folder."""
        gone = self.run if keep_venv else self.root
        if not gone.exists():
            return
        # After an interruption, tools/sandbox removes the rest only if the
        # folder still has its sign.
        for each in gone.iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            elif each.name != SIGN:
                each.unlink()
        shutil.rmtree(gone)
