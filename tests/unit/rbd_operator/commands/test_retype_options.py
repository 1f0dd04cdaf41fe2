# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_operator.commands.retype_options."""

import argparse

import ddt

from rbd_operator.commands import retype_options
from tests.unit import base

_TYPES = ('--from', 'a', '--to', 'b')


@ddt.ddt
class OptionsTest(base.TestCase):
    def parsed(self, *arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        retype_options.add(parser)
        return parser.parse_args(arguments)

    def test_defaults_never_migrate(self) -> None:
        found = self.parsed(*_TYPES)
        self.assertEqual(('a', 'b'), (found.former, found.target))
        self.assertEqual('never', found.migration_policy)
        self.assertEqual(4, found.at_once)
        self.assertIsNone(found.rate)

    @ddt.data(
        ('--from', 'a'),
        (*_TYPES, '--rate', '0'),
        (*_TYPES, '--at-once', '0'),
        (*_TYPES, '--limit', 'x'),
        (*_TYPES, '--migration-policy', 'always'),
    )
    def test_invalid_arguments_are_refused(
        self, arguments: tuple[str, ...]
    ) -> None:
        self.assertRaises(SystemExit, self.parsed, *arguments)
