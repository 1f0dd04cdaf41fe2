# SPDX-License-Identifier: Apache-2.0

"""Debian packages: bindep.txt lists them, apt-get installs them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import fcntl
import os
import pathlib
import platform
import subprocess

from sandbox_cloud import errors
from sandbox_cloud.state import CHECKOUT

_BINDEP = CHECKOUT / 'bindep.txt'
# The folder of the locks of apt-get and dpkg, which do not wait for them.
_DPKG = pathlib.Path('/var/lib/dpkg')
_POLICY = pathlib.Path('/usr/sbin/policy-rc.d')
_REFUSE = '#!/bin/sh\n# Created by tools/sandbox at installation.\nexit 101\n'


def _codename() -> str:
    return platform.freedesktop_os_release().get('VERSION_CODENAME', '')


def wanted(profile: str, text: str, codename: str | None = None) -> list[str]:
    """Return the packages of a profile in bindep's format.

    Supports only the part of the format that bindep.txt uses: a name, and in
    brackets platforms and profiles. One of each must apply.

    :param codename: that of the Debian release; that of the machine if None
    """
    here = {'platform:dpkg', f'platform:debian-{codename or _codename()}'}
    names = []
    for line in text.splitlines():
        name, _, rest = line.partition('#')[0].partition('[')
        selectors = set(rest.rstrip(' ]').split())
        if name.strip() and profile in selectors and here & selectors:
            names.append(name.strip())
    return names


def missing(profile: str) -> list[str]:
    """Return the packages of a profile that are not installed."""
    names = wanted(profile, _BINDEP.read_text())
    done = subprocess.run(
        ['dpkg-query', '--show', '-f', '${Package} ${Status}\n', *names],
        capture_output=True,
        text=True,
        check=False,
    )
    installed = {
        line.split()[0]
        for line in done.stdout.splitlines()
        if line.endswith(' ok installed')
    }
    return [name for name in names if name not in installed]


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Allow one installation of ours at a time; others wait."""
    folder = os.open(_DPKG, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@contextlib.contextmanager
def _no_daemons() -> Iterator[None]:
    """Prevent packages from starting daemons at installation."""
    try:
        descriptor = os.open(_POLICY, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        # The policy of the machine, which must be kept.
        if not os.access(_POLICY, os.X_OK):
            raise errors.SandboxError(
                f'{_POLICY} exists but cannot be run, so the packages would '
                'start daemons when installed. Remove it or make it '
                'executable.'
            ) from None
        yield
        return
    try:
        with os.fdopen(descriptor, 'w') as out:
            out.write(_REFUSE)
        _POLICY.chmod(0o755)
        yield
    finally:
        _POLICY.unlink()


def bring(profile: str, log: pathlib.Path) -> None:
    """Install the missing packages of a profile."""
    if names := missing(profile):
        print(f'installing {" ".join(names)}', flush=True)
        install(names, log)


def bring_release(
    suite: str, root: pathlib.Path, names: Iterable[str], log: pathlib.Path
) -> None:
    """Install packages of another release of Debian in a folder."""
    if root.exists():
        return
    bring('platform', log)
    script = CHECKOUT / 'tools' / 'debian_tree.sh'
    lock = root.with_suffix('.lock')
    with lock.open('w') as held, log.open('a') as out:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run(
            [
                *('bash', '-euc', '. "$0"; need_tree "$@"'),
                *(str(script), suite, str(root), *names),
            ],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=False,
        )
    if done.returncode:
        raise errors.SandboxError(f'{root} was not installed; see {log}')


def install(names: list[str], log: pathlib.Path) -> None:
    """Install packages; update the package lists if necessary."""
    if os.geteuid() != 0:
        raise errors.SandboxError(
            'These packages are missing; install them as root: '
            f'apt-get install --no-install-recommends {" ".join(names)}'
        )
    with _alone(), _no_daemons():
        command = ['install', '--yes', '--no-install-recommends', *names]
        if _apt(command, log) == 0:
            return
        if _apt(['update'], log) or _apt(command, log):
            raise errors.SandboxError(
                f'apt-get could not install {" ".join(names)}; see {log}'
            )


def _apt(arguments: list[str], log: pathlib.Path) -> int:
    with log.open('a') as out:
        return subprocess.run(
            ['apt-get', '--quiet', *arguments],
            env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=False,
        ).returncode
