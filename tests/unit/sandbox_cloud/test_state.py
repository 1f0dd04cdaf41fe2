# SPDX-License-Identifier: Apache-2.0

import pathlib
import shutil
import stat
from typing import Any
from unittest import mock

import fixtures

from sandbox_cloud import errors
from sandbox_cloud import state
from tests.unit import base


class StateTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.state = state.State(self.root / 's')

    def _mode(self, path: pathlib.Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    def test_folder_is_private(self) -> None:
        self.state.make()
        self.assertEqual(0o700, self._mode(self.state.root))

    def test_secret_is_made_once_and_private(self) -> None:
        self.state.make()
        first = self.state.secret('admin')
        self.assertEqual(first, self.state.secret('admin'))
        self.assertNotEqual(first, self.state.secret('demo'))
        # Cinder's fixed_key is 32 bytes as hex.
        self.assertEqual(32, len(bytes.fromhex(first)))
        path = self.state.run / 'secrets' / 'admin'
        self.assertEqual(0o600, self._mode(path))

    def test_once_runs_again_after_a_failure_only(self) -> None:
        self.state.make()
        calls: list[int] = []

        def action() -> None:
            calls.append(1)
            if len(calls) == 1:
                raise RuntimeError

        self.assertRaises(RuntimeError, self.state.once, 'schema', action)
        self.state.once('schema', action)
        self.state.once('schema', action)
        self.assertEqual(2, len(calls))

    def test_a_path_too_long_for_sockets_is_refused(self) -> None:
        limit = state.SOCKET_PATH_MAX - len(
            '/run/librbd/4194304.140737488355327.asok'
        )
        state.State(pathlib.Path('/' + 'x' * (limit - 1))).check()
        long = state.State(pathlib.Path('/' + 'x' * limit))
        error = self.assertRaises(errors.SandboxError, long.check)
        self.assertIn('RBD_SANDBOX_STATE', str(error))

    def test_remove_keeps_the_venv_only_if_asked(self) -> None:
        self.state.make()
        self.state.venv('2026.2').mkdir()
        self.state.remove(keep_venv=True)
        self.assertFalse(self.state.exists)
        self.assertTrue(self.state.venv('2026.2').exists())
        self.state.remove(keep_venv=False)
        self.assertFalse(self.state.root.exists())

    def test_sign_is_removed_last(self) -> None:
        """An interrupted removal can be repeated."""
        self.state.make()
        sign = self.state.root / state.SIGN
        sign.touch()
        (self.state.root / 'platform').touch()
        (self.state.root / 'uv-cache').symlink_to(self.root)
        remove = shutil.rmtree

        def check(path: pathlib.Path, *args: Any) -> None:
            self.assertTrue(sign.exists())
            left = [each.name for each in self.state.root.iterdir()]
            if path == self.state.root:
                self.assertEqual([state.SIGN], left)
            remove(path, *args)

        with mock.patch.object(shutil, 'rmtree', check):
            self.state.remove(keep_venv=False)
        self.assertFalse(self.state.root.exists())
        self.assertTrue(self.root.exists())

    def test_number_of_osds_is_fixed_once_ceph_exists(self) -> None:
        self.assertEqual(1, self.state.osds)
        self.state.make()
        self.state.set_osds(3)
        self.assertEqual(3, self.state.osds)
        (self.state.run / 'ceph').mkdir()
        self.state.set_osds(3)
        self.assertRaisesRegex(
            errors.SandboxError, 'has 3 OSDs', self.state.set_osds, 1
        )

    def test_number_of_compute_hosts_is_kept(self) -> None:
        self.assertEqual(1, self.state.computes)
        self.state.make()
        self.state.computes = 2
        self.assertEqual(2, self.state.computes)

    def test_release_is_kept(self) -> None:
        self.assertIsNone(self.state.release)
        self.state.make()
        self.state.release = '2026.2'
        self.assertEqual('2026.2', self.state.release)


class PlaceTestCase(base.TestCase):
    def _root(self, **variables: str) -> str:
        for name in ('RBD_SANDBOX_STATE', 'XDG_STATE_HOME'):
            value = variables.get(name)
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        return str(state.default_root())

    def test_own_variable_wins(self) -> None:
        root = self._root(RBD_SANDBOX_STATE='/a', XDG_STATE_HOME='/b')
        self.assertEqual('/a', root)

    def test_state_folder_follows_xdg(self) -> None:
        self.assertEqual('/b/rbd-sandbox', self._root(XDG_STATE_HOME='/b'))

    def test_state_folder_has_a_default(self) -> None:
        self.assertEndsWith(self._root(), '/.local/state/rbd-sandbox')

    def assertEndsWith(self, text: str, end: str) -> None:
        self.assertTrue(text.endswith(end), text)


class ReleasesTestCase(base.TestCase):
    def test_the_newest_is_last(self) -> None:
        self.assertEqual('2026.2', state.releases()[-1])
