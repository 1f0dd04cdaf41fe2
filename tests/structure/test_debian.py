# SPDX-License-Identifier: Apache-2.0

"""Debian's packaging covers the whole distribution and has its version."""

import configparser
import re

from tests import tree
from tests.unit import base

_FOLDER = tree.ROOT / 'packages' / 'debian'


class DebianTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.setup = configparser.ConfigParser(delimiters=('=',))
        self.setup.read(tree.ROOT / 'setup.cfg')
        self.installed = {
            path.stem: path.read_text().split()
            for path in _FOLDER.glob('*.install')
        }

    def test_debian_version_is_that_of_setup_cfg(self) -> None:
        first = (_FOLDER / 'changelog').read_text().partition('\n')[0]
        version = re.findall(r'\((.*)-\d+\)', first)
        self.assertEqual([self.setup['metadata']['version']], version)

    def test_each_top_level_package_is_in_one(self) -> None:
        installed = [
            word.rpartition('/')[2]
            for words in self.installed.values()
            for word in words
            if re.fullmatch(r'usr/lib/python3\*/dist-packages/\w+', word)
        ]
        self.assertCountEqual(tree.PACKAGES, installed)

    def test_what_has_entry_points_has_metadata(self) -> None:
        owners = {
            target.partition('.')[0]
            for points in tree.entry_points().values()
            for target in points.values()
        }
        for owner in owners:
            (having,) = (
                package
                for package, words in self.installed.items()
                if f'usr/lib/python3*/dist-packages/{owner}' in words
            )
            self.assertIn(
                f'usr/lib/python3*/dist-packages/{owner}-*.dist-info',
                self.installed[having],
            )

    def test_each_is_described(self) -> None:
        control = (_FOLDER / 'control').read_text()
        described = re.findall(r'^Package: (.*)$', control, re.MULTILINE)
        self.assertCountEqual(self.installed, described)

    def test_each_part_has_a_test(self) -> None:
        control = (_FOLDER / 'tests/control').read_text()
        depends = re.findall(r'^Depends: (.*)$', control, re.MULTILINE)
        tested = {name for words in depends for name in words.split(', ')}
        # The rules are a dependency of all others.
        parts = set(self.installed) - {'python3-rbd-volume-options'}
        self.assertEqual(set(), parts - tested)
