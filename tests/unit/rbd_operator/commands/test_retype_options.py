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
