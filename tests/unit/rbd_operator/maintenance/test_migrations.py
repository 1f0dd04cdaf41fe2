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

"""Unit tests of rbd_operator.maintenance.migrations."""

from typing import Any

import ddt

from rbd_operator.maintenance import migrations
from rbd_operator.maintenance import outcomes
from tests.unit import base


class _API:
    """The API and its module."""

    RBD_IMAGE_MIGRATION_STATE_PREPARED = 2
    RBD_IMAGE_MIGRATION_STATE_EXECUTING = 3
    RBD_IMAGE_MIGRATION_STATE_EXECUTED = 4

    def __init__(self, state: int, source: int = 1) -> None:
        self.state = state
        self.source = source
        self.calls: list[str] = []

    def RBD(self) -> '_API':
        return self

    def migration_status(self, ioctx: Any, name: str) -> dict[str, int]:
        pools = {'source_pool_id': self.source, 'dest_pool_id': 1}
        return {'state': self.state, **pools}

    def migration_abort(self, ioctx: Any, name: str) -> None:
        self.calls.append('abort')

    def migration_execute(self, ioctx: Any, name: str) -> None:
        self.calls.append('execute')

    def migration_commit(self, ioctx: Any, name: str) -> None:
        self.calls.append('commit')


@ddt.ddt
class MigrationsTest(base.TestCase):
    @ddt.data(
        (1, ['abort']),
        (2, ['execute', 'commit']),
        (3, ['execute', 'commit']),
        (4, ['commit']),
        (5, ['abort']),
    )
    @ddt.unpack
    def test_from_state(self, state: int, expected: list[str]) -> None:
        api = _API(state)
        done = migrations.finish(api, None, 'name')
        self.assertEqual(expected, api.calls)
        self.assertIs(expected == ['abort'], 'aborted' in done)

    def test_from_another_pool(self) -> None:
        api = _API(2, source=7)
        error = self.assertRaises(
            outcomes.Refused, migrations.finish, api, None, 'name'
        )
        self.assertIs(migrations.ELSEWHERE, error.reason)
        self.assertEqual([], api.calls)
