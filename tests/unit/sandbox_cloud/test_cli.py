# SPDX-License-Identifier: Apache-2.0


import functools
import os
import pathlib
import subprocess

import fixtures
import testtools

from sandbox_cloud import cli
from sandbox_cloud import state
from sandbox_cloud import venvs
from tests.unit import base


class EnvTestCase(base.TestCase):
    def test_env_names_the_sandbox_itself(self) -> None:
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        place = state.State(root.resolve())
        place.run.mkdir()
        place.release = '2026.2'
        self.useFixture(
            fixtures.EnvironmentVariable('RBD_SANDBOX_STATE', str(root))
        )
        shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', shown))
        self.useFixture(fixtures.MonkeyPatch('sys.argv', ['sandbox', 'env']))
        self.assertEqual(0, cli.main())
        shown.seek(0)
        script = f'{shown.read()}\necho "$RBD_SANDBOX_STATE"'
        # The sandbox is the same if HOME differs, as in tests.
        done = subprocess.run(
            ['sh', '-c', script],
            env={'PATH': os.environ['PATH'], 'HOME': '/nonexistent'},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        self.assertEqual(str(place.root), done.stdout.strip())


_SANDBOX = str(state.CHECKOUT / 'tools' / 'sandbox')
_TREE = venvs.cache() / 'trixie'
_LISTEN = """
import os, socket
with socket.create_server(('127.0.0.1', 5000)):
    print(os.getpid(), flush=True)
    input()
"""


def _line(child: subprocess.Popen[str]) -> str:
    return child.stdout.readline() if child.stdout else ''


@testtools.skipIf(os.geteuid() != 0, 'namespaces need root')
class NamespacesTestCase(base.TestCase):
    def _sandbox(self, number: int, *words: str) -> subprocess.Popen[str]:
        # The variable is that of another sandbox.
        other = str(self.root / 'rbd-sandbox-test-0')
        environ = {
            'XDG_STATE_HOME': str(self.root),
            'RBD_SANDBOX_STATE': other,
        }
        child = subprocess.Popen(
            [_SANDBOX, '--name', f'test-{number}', *words],
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def test_two_sandboxes_use_the_same_port_and_end_separately(self) -> None:
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        listen = ('exec', '--', '/usr/bin/python3', '-c', _LISTEN)
        first, second = (self._sandbox(n, *listen) for n in (1, 2))
        for child in (first, second):
            # A process number of its own namespace.
            self.assertIn(int(_line(child)), range(2, 100))
        names = {'rbd-sandbox-test-1', 'rbd-sandbox-test-2'}
        self.assertEqual(names, {each.name for each in self.root.iterdir()})
        self.assertIn('is down', self._sandbox(1, 'down').communicate()[0])
        self.assertNotEqual(0, first.wait(20))
        self.assertIsNone(second.poll())
        second.communicate('end\n')
        self.assertEqual(0, second.returncode)
        self.assertIn('is down', self._sandbox(2, 'down').communicate()[0])
        self.assertEqual([], list(self.root.iterdir()))


class FolderTestCase(base.TestCase):
    def _refusal(self, root: pathlib.Path, *words: str) -> str:
        done = subprocess.run(
            [_SANDBOX, *words],
            env={**os.environ, 'RBD_SANDBOX_STATE': str(root)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(1, done.returncode, done.stdout)
        return done.stderr

    def test_folder_with_other_files_is_neither_used_nor_removed(self) -> None:
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        root.chmod(0o755)
        (root / 'thesis').touch()
        self.assertIn('not empty', self._refusal(root, 'guest-image'))
        self.assertIn('is not removed', self._refusal(root, 'down'))
        self.assertEqual([root / 'thesis'], list(root.iterdir()))
        self.assertEqual(0o755, root.stat().st_mode & 0o777)


@testtools.skipIf(os.geteuid() != 0, 'another release of Debian needs root')
class PlatformTestCase(base.TestCase):
    timeout = 180

    def setUp(self) -> None:
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def _up(self, *words: str) -> str:
        done = subprocess.run(
            # Without a valid release nothing starts in any case.
            [_SANDBOX, 'up', '--release', 'none', *words],
            env={**os.environ, 'RBD_SANDBOX_STATE': str(self.root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(1, done.returncode, done.stdout)
        return done.stdout

    def test_unknown_platform_is_refused(self) -> None:
        self.assertIn("'potato' is unknown", self._up('--platform', 'potato'))
        self.assertEqual([], list(self.root.iterdir()))

    @testtools.skipUnless(_TREE.exists(), 'tools/test platform installs it')
    def test_programs_run_on_the_platform_until_it_is_down(self) -> None:
        for name in ((), ('--name', 'test-p')):
            root = self.root / '-'.join(['rbd-sandbox', *name[1:]])
            root.mkdir()
            (root / '.rbd-sandbox').touch()
            (root / 'platform').write_text('trixie\n')
            sandbox = functools.partial(self._shown, root, *name)
            self.addCleanup(sandbox, 'down')
            # The state folder is there too.
            files = ('/etc/debian_version', f'{root}/platform')
            release, platform, *devices = sandbox(
                *('exec', '--', 'cat', *files, '/proc/net/dev')
            ).splitlines()
            self.assertEqual('13', release.partition('.')[0])
            self.assertEqual('trixie', platform)
            # With a name, there is only the loopback device.
            self.assertEqual(bool(name), len(devices) == 3, str(devices))
            self.assertIn('is down', sandbox('down'))
            self.assertFalse(root.exists())

    def _shown(self, root: pathlib.Path, *words: str) -> str:
        environ = {
            'XDG_STATE_HOME': str(root.parent),
            # Tests have their own HOME.
            'XDG_CACHE_HOME': str(_TREE.parents[1]),
        }
        return subprocess.check_output(
            [_SANDBOX, *words], env={**os.environ, **environ}, text=True
        )

    def test_platform_of_an_existing_sandbox_is_kept(self) -> None:
        (self.root / 'run').mkdir()
        self.assertIn(
            'was started without --platform trixie',
            self._up('--platform=trixie'),
        )
        self.assertIsNone(state.State(self.root).platform)
