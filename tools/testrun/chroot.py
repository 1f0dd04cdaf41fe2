# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Another release of Debian in a folder of its own, to run tests in.

The folder is made once and kept. Commands run in it in namespaces of their
own: the mounts are seen by nobody else and end, like every process, with the
command or the run, whatever ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import os
import pathlib
import shutil
import subprocess

from testrun import environment
from testrun import tree

#: Where the checkout's files and the venv are, seen from inside.
TREE = pathlib.PurePosixPath('/srv/tree')
CACHE = pathlib.PurePosixPath('/var/cache')

# What tools/test stands on. The certificates come with it since the host's
# are later mounted over them, where their package couldn't be installed.
_FIRST_PACKAGES = 'python3,python3-venv,ca-certificates'
_UPSTREAM_MIRROR = 'http://deb.debian.org/debian/'
# Killed with the thread that started it, and kills all that is inside.
_UNSHARE = (
    *('setpriv', '--pdeathsig', 'KILL'),
    *('unshare', '--mount', '--pid', '--fork', '--kill-child'),
)
# How the host finds and trusts package indexes, where it has these.
_HOST_FILES = (
    '/etc/hosts',
    '/etc/pip.conf',
    '/etc/resolv.conf',
    '/etc/ssl/certs/ca-certificates.crt',
)
_VARIABLES = (
    *('PIP_', 'UV_', 'SSL_CERT_', 'REQUESTS_CA_BUNDLE'),
    *('RBD_TEST_', 'OS_TEST_TIMEOUT'),
    *('http_proxy', 'https_proxy', 'no_proxy'),
    *('HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'),
)
# What these name is the host's own: folders to write to, a cluster.
_NOT_PASSED = ('PIP_CACHE_DIR', 'UV_CACHE_DIR', 'RBD_TEST_CEPH_CONF')
# chroot ROOT COMMAND, with the words before `--` mounted read-only.
_ENTER = """\
root=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
    mount --bind -o ro "$1" "$root$1"
    shift
done
shift
exec chroot "$root" "$@"
"""


class Chroot:
    """A release of Debian, by its code name.

    :ivar root: the folder, below the cache of the tests
    """

    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.root = environment.cache() / suite

    def prepare(self) -> None:
        """Make the folder, unless it is there; what runs needs more.

        Only a complete one has its name. What was downloaded for one that
        was cut short is used again.
        """
        if os.geteuid() != 0:
            raise environment.CannotPrepare(
                f'to install {self.suite} in {self.root} needs root'
            )
        if self.root.exists():
            return
        print(f'installing {self.suite} in {self.root}', flush=True)
        partial = self.root.with_suffix('.partial')
        packages = self.root.with_suffix('.packages')
        shutil.rmtree(partial, ignore_errors=True)
        packages.mkdir(exist_ok=True)
        command = [*_UNSHARE, 'debootstrap', '--variant=minbase']
        command += [f'--include={_FIRST_PACKAGES}', f'--cache-dir={packages}']
        environment.run([*command, self.suite, partial, mirror()])
        self._settle(partial)
        partial.rename(self.root)
        shutil.rmtree(packages)

    def _settle(self, root: pathlib.Path) -> None:
        policy = root / 'usr/sbin/policy-rc.d'
        policy.write_text('#!/bin/sh\n# Start no daemon.\nexit 101\n')
        policy.chmod(0o755)
        # Nobody needs the folder after a crash of the machine, and waiting
        # for the disk takes longer than unpacking.
        (root / 'etc/dpkg/dpkg.cfg.d/unsafe-io').write_text(
            'force-unsafe-io\n'
        )

    def fill(self) -> None:
        """Put a copy of the checkout in, in the place of an older one."""
        copy = self._outside(TREE)
        shutil.rmtree(copy, ignore_errors=True)
        tree.export(copy)

    def command(
        self, command: Sequence[str], environ: Mapping[str, str]
    ) -> list[str]:
        """Return what runs a command inside, from the host.

        :param environ: what it gets besides what leads to package indexes
        """
        passed = passed_on(os.environ)
        mounts = dict.fromkeys(
            name
            for name in (*_HOST_FILES, *passed.values())
            if os.path.isabs(name) and os.path.exists(name)
        )
        for name in mounts:
            self._mount_point(name)
        variables = {
            'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
            'HOME': '/srv',
            'LANG': 'C.UTF-8',
            'XDG_CACHE_HOME': str(CACHE),
            **passed,
            **environ,
        }
        pairs = [f'{name}={value}' for name, value in variables.items()]
        enter = [*_UNSHARE, 'sh', '-euc', _ENTER, 'enter', str(self.root)]
        return [*enter, *mounts, '--', 'env', '-i', *pairs, *command]

    def _mount_point(self, name: str) -> None:
        place = self._outside(pathlib.PurePosixPath(name))
        if os.path.isdir(name):
            place.mkdir(parents=True, exist_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()

    def _outside(self, inside: pathlib.PurePosixPath) -> pathlib.Path:
        return self.root / inside.relative_to('/')


def passed_on(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that hold inside too."""
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(_VARIABLES) and name not in _NOT_PASSED
    }


def mirror() -> str:
    """Return the mirror of Debian that the host installs from."""
    command = ['apt-get', 'indextargets', '--format', '$(REPO_URI)']
    command += ['Created-By: Packages', 'Origin: Debian', 'Label: Debian']
    listed = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False
    ).stdout
    # debootstrap knows nothing of mirror+file and cdrom.
    found = (
        uri
        for uri in listed.split()
        if uri.startswith(('http://', 'https://'))
    )
    return next(found, _UPSTREAM_MIRROR)
