# SPDX-License-Identifier: Apache-2.0

"""Base class of tests with Debian packages, built as documented."""

import atexit
import functools
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import ClassVar

import fixtures

from tests import tree
from tests.cloud import documented
from tests.install import base
from tests.install import fresh

_PAGE = documented.ROOT / 'doc/source/install/packages.rst'
_COMMON = 'python3-rbd-volume-options'
# Determined at import, because the temporary folder of a test is removed.
_OUTSIDE = tempfile.gettempdir()
_APT = """\
APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
"""

# Prints our top-level packages that entry points refer to.
_OWNERS = """
import json, sys
from importlib import metadata
owners = {
    point.value.partition(':')[0].partition('.')[0]
    for distribution in metadata.distributions()
    for point in distribution.entry_points
}
print(json.dumps(sorted(owners & set(sys.argv[1:]))))
"""


class Debian(fresh.Environment):
    """The whole machine, which the test changes."""

    path = pathlib.Path('/')
    site = pathlib.Path('/usr/lib/python3/dist-packages')

    def program(self, name: str) -> str:
        """Return the path of a program; Debian has no `python`."""
        return super().program('python3' if name == 'python' else name)

    def environ(self, **values: str) -> dict[str, str]:
        """Return environment variables for unattended apt-get."""
        return super().environ(
            DEBIAN_FRONTEND='noninteractive',
            APT_CONFIG=str(_packages() / 'apt.conf'),
            **values,
        )

    def distributions(self) -> set[str]:
        """Return the installed packages; check their dependencies."""
        self.execute('apt-get', 'check')
        shown = self.execute(
            'dpkg-query', '--show', '-f', '${Package} ${Status}\\n'
        )
        return {
            line.split()[0]
            for line in shown.splitlines()
            if line.endswith(' installed')
        }


def _commands() -> list[str]:
    """Return the commands of the page that do not require systemd."""
    return [
        command.text
        for command in documented.commands(_PAGE)
        if not command.text.startswith('systemctl ')
    ]


def _installation(package: str) -> list[str]:
    """Return the commands that install and set up a package.

    The set-up ends before the next call of apt-get.
    """
    first, *more = itertools.dropwhile(
        lambda command: f'{package}_*.deb' not in command, _commands()
    )
    follow = itertools.takewhile(
        lambda command: not command.startswith('apt-get '), more
    )
    return [first, *follow]


@functools.cache
def _packages() -> pathlib.Path:
    """Build the packages once for all tests; return their folder."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=_OUTSIDE))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / 'apt.conf').write_text(_APT)
    source = folder / 'source'
    # The copy is like a source archive, without git.
    leave = shutil.ignore_patterns('.git', '__pycache__')
    shutil.copytree(tree.ROOT, source, ignore=leave)
    build = list(
        itertools.takewhile(lambda each: '.deb' not in each, _commands())
    )
    done = subprocess.run(
        ['bash', '-euxc', '\n'.join(build)],
        cwd=source,
        env={
            **os.environ,
            'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
            'DEBIAN_FRONTEND': 'noninteractive',
            'APT_CONFIG': str(folder / 'apt.conf'),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stdout)
    return folder


def _autopkgtests(package: str) -> list[str]:
    """Return the commands by which Debian would test a package."""
    text = (tree.ROOT / 'packages/debian/tests/control').read_text()
    return [
        test.partition('\n')[0].removeprefix('Test-Command: ')
        for test in text.split('\n\n')
        if f'{package}\n' in test
    ]


class Packaged(fixtures.TestWithFixtures):
    """Installs packages as documented, and removes them."""

    #: The package with a part of the suite.
    package: ClassVar[str]

    def environment(self) -> fresh.Environment:
        """Return the machine, with all services and without the suite."""
        self.built = _packages()
        machine: fresh.Environment = self.useFixture(Debian())
        self.fresh = machine
        # An interrupted run may have left packages installed.
        self._clean_up()
        self.addCleanup(self._clean_up)
        return self.fresh

    def purge(self) -> None:
        """Purge the common package as documented, which removes all parts."""
        purge = f'apt-get purge {_COMMON}'
        self.assertIn(purge, _commands())
        self._in_folder(purge)

    def _clean_up(self) -> None:
        if _COMMON in self.fresh.distributions():
            self.purge()

    def install(self, **environ: str) -> None:
        """Run the documented commands for the package, and its tests."""
        self._in_folder(*_installation(self.package), **environ)
        commands = _autopkgtests(self.package)
        self.assertNotEqual([], commands)
        for command in commands:
            self.fresh.execute('sh', '-euxc', command)

    def _in_folder(self, *commands: str, **environ: str) -> None:
        script = '\n'.join((f'cd {self.built}', *commands))
        self.fresh.execute('bash', '-euxc', script, **environ)

    def owners(self) -> list[str]:
        """Return our packages to which installed entry points refer."""
        python = self.fresh.program('python')
        shown = self.fresh.execute(python, '-c', _OWNERS, *tree.PACKAGES)
        return list(json.loads(shown))


class PackageTestCase(Packaged, base.InstallTestCase):
    """The steps of a service's installation test, with packages."""

    #: The Debian packages of the service.
    services: ClassVar[tuple[str, ...]]
    #: Our top-level packages that its entry points refer to.
    leads_to: ClassVar[tuple[str, ...]]

    def check_nothing_else(self) -> None:
        """Check that the service is installed and the suite is not."""
        self.assertEqual(set(), set(self.services) - self.stock)
        self.assertEqual([], self.owners())

    def check_extra(self) -> None:
        """Skip this check: packages have no extras.

        Their dependencies are checked after the installation.
        """

    def install_as_documented(self, **environ: str) -> None:
        """Install as documented; check that only our two packages are new."""
        self.install(**environ)
        self.assertEqual(
            self.stock | {_COMMON, self.package}, self.fresh.distributions()
        )
        # Only the entry points of this part are installed.
        self.assertEqual(set(self.leads_to), set(self.owners()))

    def uninstall(self) -> None:
        """Remove our packages; check that nothing is left."""
        self.fresh.execute('apt-get', 'purge', self.package)
        self.assertEqual(self.stock | {_COMMON}, self.fresh.distributions())
        self.purge()
        self.assertEqual(self.stock, self.fresh.distributions())
        left = [
            path
            for package in tree.PACKAGES
            for path in self.fresh.site.glob(f'{package}*')
        ]
        self.assertEqual([], left)
