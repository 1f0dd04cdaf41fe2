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

import os
import pathlib
import stat

import ddt
import fixtures

from testrun import chroot
from testrun import environment
from tests.unit import base

_DEBOOTSTRAP = """\
#!/bin/sh
echo "$*" >> '{calls}'
# The folder is the last word but one.
while [ $# -gt 2 ]; do
    case $1 in --cache-dir=*) touch "${{1#*=}}/downloaded" ;; esac
    shift
done
mkdir -p "$1/usr/sbin" "$1/etc/dpkg/dpkg.cfg.d"
[ ! -e '{calls}.broken' ]
"""
_UNSHARE = """\
#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
"""
_APT_GET = """\
#!/bin/sh
echo 'mirror+file:/etc/apt/mirrors/debian.list'
echo 'http://mirror.example.org/debian/'
"""


class _Base(base.TestCase):
    """Programs that reach beyond the test are stand-ins."""

    def setUp(self) -> None:
        super().setUp()
        shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', shown))
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.calls = self.folder / 'calls'
        self.program('debootstrap', _DEBOOTSTRAP.format(calls=self.calls))
        self.program('unshare', _UNSHARE)
        self.program('apt-get', _APT_GET)
        for name, value in (
            ('PATH', f'{self.folder}{os.pathsep}{os.environ["PATH"]}'),
            ('XDG_CACHE_HOME', str(self.folder / 'cache')),
        ):
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        self.useFixture(fixtures.MonkeyPatch('os.geteuid', lambda: 0))
        self.chroot = chroot.Chroot('trixie')

    def program(self, name: str, text: str) -> None:
        """Put a program first in PATH."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def called(self) -> list[str]:
        """Return what debootstrap was called with."""
        return self.calls.read_text().splitlines()


class PrepareTestCase(_Base):
    def _left(self) -> set[str]:
        return {path.name for path in self.chroot.root.parent.iterdir()}

    def test_made_once(self) -> None:
        self.chroot.prepare()
        self.chroot.prepare()
        (call,) = self.called()
        self.assertTrue(
            call.endswith('trixie.partial http://mirror.example.org/debian/')
        )
        self.assertEqual({'trixie'}, self._left())

    def test_packages_start_no_daemon(self) -> None:
        self.chroot.prepare()
        policy = self.chroot.root / 'usr/sbin/policy-rc.d'
        self.assertIn('exit 101', policy.read_text())
        self.assertEqual(0o755, stat.S_IMODE(policy.stat().st_mode))

    def test_cut_short(self) -> None:
        broken = self.calls.with_suffix('.broken')
        broken.touch()
        self.assertRaises(environment.CannotPrepare, self.chroot.prepare)
        self.assertFalse(self.chroot.root.exists())
        # What it had got is there for the next attempt ...
        packages = self.chroot.root.with_suffix('.packages')
        self.assertTrue((packages / 'downloaded').exists())
        remnant = self.chroot.root.with_suffix('.partial') / 'remnant'
        remnant.touch()
        broken.unlink()
        self.chroot.prepare()
        # ... and what it had unpacked isn't.
        self.assertEqual({'trixie'}, self._left())
        self.assertFalse((self.chroot.root / 'remnant').exists())

    def test_not_root(self) -> None:
        self.useFixture(fixtures.MonkeyPatch('os.geteuid', lambda: 1000))
        error = self.assertRaises(
            environment.CannotPrepare, self.chroot.prepare
        )
        self.assertIn('needs root', str(error))
        self.assertFalse(self.calls.exists())


@ddt.ddt
class CommandTestCase(_Base):
    def setUp(self) -> None:
        super().setUp()
        self.chroot.prepare()
        self.useFixture(fixtures.MonkeyPatch('testrun.chroot._HOST_FILES', ()))
        for name in chroot.passed_on(os.environ):
            self.useFixture(fixtures.EnvironmentVariable(name))

    def _words(self) -> list[str]:
        words = self.chroot.command(['the', 'tests'], {'CASES': '8'})
        return words[words.index(str(self.chroot.root)) + 1 :]

    def test_an_environment_of_its_own(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('PYTHONPATH', 'tools'))
        words = self._words()
        self.assertEqual(['--', 'env', '-i'], words[:3])
        self.assertEqual(['CASES=8', 'the', 'tests'], words[-3:])
        self.assertNotIn('PYTHONPATH=tools', words)

    @ddt.data('PIP_INDEX_URL', 'UV_DEFAULT_INDEX', 'https_proxy')
    def test_package_indexes_are_passed_on(self, name: str) -> None:
        url = 'http://index.example.org/'
        self.useFixture(fixtures.EnvironmentVariable(name, url))
        words = self._words()
        self.assertIn(f'{name}={url}', words)
        self.assertEqual('--', words[0])

    @ddt.data('UV_CACHE_DIR', 'RBD_TEST_CEPH_CONF')
    def test_what_is_the_hosts_own_is_not(self, name: str) -> None:
        value = str(self.folder)
        self.useFixture(fixtures.EnvironmentVariable(name, value))
        self.assertNotIn(f'{name}={value}', self._words())

    def test_a_folder_that_a_variable_names_is_mounted(self) -> None:
        wheels = self.folder / 'wheels'
        wheels.mkdir()
        self.useFixture(
            fixtures.EnvironmentVariable('PIP_FIND_LINKS', str(wheels))
        )
        self.assertEqual([str(wheels), '--'], self._words()[:2])
        self.assertTrue(self._inside(wheels).is_dir())

    def test_a_file_that_a_variable_names_is_mounted_once(self) -> None:
        bundle = self.folder / 'bundle.crt'
        bundle.touch()
        for name in ('PIP_CERT', 'SSL_CERT_FILE'):
            self.useFixture(fixtures.EnvironmentVariable(name, str(bundle)))
        self.assertEqual([str(bundle), '--'], self._words()[:2])
        self.assertTrue(self._inside(bundle).is_file())

    def test_a_copy_of_the_checkout(self) -> None:
        old = self._inside(pathlib.Path(chroot.TREE, 'old'))
        old.parent.mkdir(parents=True)
        old.touch()
        self.chroot.fill()
        self.assertFalse(old.exists())
        self.assertTrue((old.parent / 'tools' / 'test').is_file())

    def _inside(self, path: pathlib.Path) -> pathlib.Path:
        return self.chroot.root / path.relative_to('/')


class MirrorTestCase(_Base):
    def test_one_that_debootstrap_can_use(self) -> None:
        self.assertEqual('http://mirror.example.org/debian/', chroot.mirror())

    def test_none(self) -> None:
        self.program('apt-get', '#!/bin/sh\nexit 100\n')
        self.assertEqual('http://deb.debian.org/debian/', chroot.mirror())
