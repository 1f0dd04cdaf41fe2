# SPDX-License-Identifier: Apache-2.0

"""The line of ``local.conf`` that enables the plug-in."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import fixtures

from tests.unit import base

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_FETCH = pathlib.Path(__file__).with_name('fetch.sh')
_URL = 'file:///opt/stack/rbd-volume-options'
_FILES = ('README.rst', 'local.conf.sample')


def _arguments(name: str) -> str:
    """Return the arguments of ``enable_plugin`` in a file of ``devstack/``."""
    text = (_ROOT / 'devstack' / name).read_text()
    match = re.search(
        r'^ *enable_plugin (rbd-volume-options .*)$', text, re.MULTILINE
    )
    if match is None:
        raise AssertionError(f'no line in {name}')
    return match[1]


class LineTest(base.TestCase):
    def test_with_the_branch(self) -> None:
        """Without a branch DevStack uses ``master``."""
        for name in _FILES:
            self.assertEqual(
                f'rbd-volume-options {_URL} main', _arguments(name), name
            )


@unittest.skipUnless(
    os.environ.get('DEVSTACK_DIR'), 'DEVSTACK_DIR names no DevStack'
)
class FetchTest(base.TestCase):
    """DevStack's own ``enable_plugin`` and ``fetch_plugins``."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.repository = self.folder / 'repository'
        shutil.copytree(_ROOT / 'devstack', self.repository / 'devstack')
        self._git('init', '--quiet', '--initial-branch', 'main')
        self._git('add', '.')
        who = ('-c', 'user.name=test', '-c', 'user.email=test@localhost')
        self._git(*who, 'commit', '--quiet', '--message', 'all')

    def _git(self, *arguments: str) -> None:
        subprocess.run(['git', *arguments], cwd=self.repository, check=True)

    def _fetch(self, line: str) -> subprocess.CompletedProcess[str]:
        (self.folder / 'dest').mkdir()
        line = line.replace(_URL, f'file://{self.repository}')
        return subprocess.run(
            ['bash', str(_FETCH), str(self.folder / 'dest'), line],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def test_as_documented(self) -> None:
        done = self._fetch(_arguments('README.rst'))
        self.assertEqual(0, done.returncode, done.stdout)
        target = self.folder / 'dest' / 'rbd-volume-options'
        # The plug-in's settings make Tempest load it.
        self.assertIn(f'fetched {target}: {target}\n', done.stdout)
        self.assertTrue((target / 'devstack' / 'plugin.sh').exists())

    def test_without_the_branch(self) -> None:
        done = self._fetch(_arguments('README.rst').removesuffix(' main'))
        self.assertNotEqual(0, done.returncode, done.stdout)
        self.assertIn('master', done.stdout)
