# SPDX-License-Identifier: Apache-2.0

"""Test that the programs and files in tox.ini exist."""

import configparser
import re

import yaml

from sandbox_cloud import state
from sandbox_cloud import venvs
from tests import runs
from tests import tree
from tests.unit import base


class ToxTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.tox = configparser.ConfigParser(interpolation=None)
        self.tox.read(tree.ROOT / 'tox.ini')

    def test_environments_hold_what_those_of_the_tests_hold(self) -> None:
        deps = self.tox['testenv']['deps']
        files = set(re.findall(r'-r\{toxinidir\}/(\S+)', deps))
        self.assertEqual(set(venvs.TESTS), files)
        self.assertIn(f'constraints/{state.releases()[-1]}.txt', deps)

    def test_folders_that_run_alone_are_run(self) -> None:
        commands = self.tox['testenv']['commands']
        for folder in runs.FOLDERS:
            if folder.startswith('tests/unit/'):
                self.assertIn(f'--test-path ./{folder} run', commands)


class HooksTestCase(base.TestCase):
    """Hooks of pre-commit fetch nothing."""

    def setUp(self) -> None:
        super().setUp()
        text = (tree.ROOT / '.pre-commit-config.yaml').read_text()
        (self.repo,) = yaml.safe_load(text)['repos']

    def test_nothing_is_fetched(self) -> None:
        self.assertEqual('local', self.repo['repo'])
        languages = {hook['language'] for hook in self.repo['hooks']}
        self.assertEqual({'system'}, languages)
