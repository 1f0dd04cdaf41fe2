# SPDX-License-Identifier: Apache-2.0

"""Test that the releases, programs and files in tox.ini exist."""

import configparser
import itertools
import os
import pathlib
import re
import shutil
import sys

import yaml

from sandbox_cloud import state
from sandbox_cloud import venvs
from tests import runs
from tests import tree
from tests.unit import base

_PROGRAMS = pathlib.Path(sys.executable).parent
_CHOICE = re.compile(r'\{([^{}]*)\}')
_RELEASE = re.compile(r'\d{4}\.\d')
# A setting for one factor alone: `2025.1: RELEASE = 2025.1`.
_OF_RELEASE = re.compile(r'^(\d{4}\.\d): RELEASE = (.*)$', re.MULTILINE)
_OF_NEWEST = re.compile(r'^RELEASE = (.*)$', re.MULTILINE)
_SAMPLES = ('etc/oslo-config-generator/', 'etc/oslo-policy-generator/')
_RELEASES = state.releases()


def _expanded(pattern: str) -> list[str]:
    """Expand braces as tox does."""
    pieces = _CHOICE.split(pattern)
    # Every other piece was in braces.
    choices = [
        piece.split(',') if number % 2 else [piece]
        for number, piece in enumerate(pieces)
    ]
    return [''.join(each) for each in itertools.product(*choices)]


class ToxTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.tox = configparser.ConfigParser(interpolation=None)
        self.tox.read(tree.ROOT / 'tox.ini')
        self.sections = [
            name for name in self.tox.sections() if name.startswith('testenv')
        ]

    def _commands(self) -> list[str]:
        """Return all commands, without their factors."""
        lines = [
            line
            for section in self.sections
            for line in self.tox[section].get('commands', '').splitlines()
            if line
        ]
        self.assertNotEqual([], lines)
        return [re.sub(r'^[\w.!-]+: ', '', line) for line in lines]

    def _named(self, words: str) -> set[str]:
        return {
            name for word in words.split() for name in self._names_in(word)
        }

    def _names_in(self, word: str) -> list[str]:
        # Braces may contain commas: split a list only outside of them.
        return [
            name
            for pattern in re.split(r',(?![^{}]*\})', word)
            for name in _expanded(pattern)
        ]

    def test_each_environment_is_described(self) -> None:
        """``tox list`` shows the descriptions."""
        for section in self.sections:
            self.assertNotEqual('', self.tox[section].get('description', ''))

    def test_unit_tests_run_on_each_release(self) -> None:
        self.assertEqual(
            {f'py3-{release}' for release in _RELEASES},
            {
                name
                for name in self._named(self.tox['tox']['envlist'])
                if name.startswith('py3')
            },
        )

    def test_parts_with_factors_have_each_release(self) -> None:
        for section in self.sections:
            names = _expanded(section)
            releases = [
                each[0] for each in map(_RELEASE.findall, names) if each
            ]
            if releases:
                self.assertEqual(set(_RELEASES), set(releases))

    def test_a_factor_is_the_release_of_its_name(self) -> None:
        settings = self.tox['testenv']['setenv']
        self.assertEqual(
            {release: release for release in _RELEASES[:-1]},
            dict(_OF_RELEASE.findall(settings)),
        )
        self.assertEqual([_RELEASES[-1]], _OF_NEWEST.findall(settings))

    def test_environments_hold_what_those_of_the_tests_hold(self) -> None:
        deps = self.tox['testenv']['deps']
        self.assertEqual(
            set(venvs.TESTS),
            set(re.findall(r'-r\{toxinidir\}/(\S+)', deps)),
        )

    def test_source_distributions_are_built_alike(self) -> None:
        self.assertIn(
            'UV_BUILD_CONSTRAINT = {toxinidir}/constraints/build.txt',
            self.tox['testenv']['setenv'].splitlines(),
        )
        self.assertTrue((tree.ROOT / 'constraints/build.txt').is_file())

    def test_programs_are_installed(self) -> None:
        # env is part of the system; tox installs pre-commit itself.
        others = {'env', 'pre-commit', '{[testenv]commands}'}
        for command in self._commands():
            program = command.split()[0].replace('{toxinidir}/', '')
            folder = tree.ROOT if '/' in program else _PROGRAMS
            if program not in others:
                self.assertTrue((folder / program).is_file(), command)

    def test_folders_are_there(self) -> None:
        words = [w for each in self._commands() for w in each.split()]
        folders = {w for w in words if w.startswith('./tests/')}
        self.assertNotEqual(set(), folders)
        for folder in folders:
            self.assertTrue((tree.ROOT / folder).is_dir(), folder)
        alone_here = {f for f in runs.FOLDERS if f.startswith('tests/unit/')}
        self.assertLessEqual({f'./{each}' for each in alone_here}, folders)

    def test_pages_and_samples_are_made(self) -> None:
        wanted = {'doc/source', 'releasenotes/source'}
        wanted |= {name for name in tree.files() if name.startswith(_SAMPLES)}
        made = {
            word for command in self._commands() for word in command.split()
        }
        self.assertEqual(set(), wanted - made)


class HooksTestCase(base.TestCase):
    """Hooks of pre-commit run only installed programs."""

    def setUp(self) -> None:
        super().setUp()
        text = (tree.ROOT / '.pre-commit-config.yaml').read_text()
        (self.repo,) = yaml.safe_load(text)['repos']

    def test_nothing_is_fetched(self) -> None:
        self.assertEqual('local', self.repo['repo'])
        languages = {hook['language'] for hook in self.repo['hooks']}
        self.assertEqual({'system'}, languages)

    def test_programs_are_installed(self) -> None:
        path = f'{_PROGRAMS}:{os.environ["PATH"]}'
        for hook in self.repo['hooks']:
            program = hook['entry'].split()[0]
            self.assertIsNotNone(shutil.which(program, path=path), program)

    def test_there_are_types_and_style(self) -> None:
        ids = {hook['id'] for hook in self.repo['hooks']}
        self.assertLess({'mypy', 'ruff', 'ruff-format', 'codespell'}, ids)
