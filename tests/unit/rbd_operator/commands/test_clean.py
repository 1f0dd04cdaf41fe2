#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Unit tests of rbd_operator.commands.clean."""

from rbd_operator.maintenance import removal
from tests.unit.rbd_operator.audit import facts
from tests.unit.rbd_operator.commands import commands

_ORPHAN = f'volume-{facts.OTHER}'


class CleanTest(commands.CommandTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.pool.images.append(_ORPHAN)
        self.removed = self.replace(
            removal.Removal, 'apply', return_value='moved'
        )
        self.pool.mon_command = lambda *args: (  # type: ignore[attr-defined]
            (0, b'{"status": "HEALTH_OK"}', '')
        )
        self.pool.get_instance_id = lambda: 41  # type: ignore[attr-defined]

    def clean(self, *words: str) -> int:
        return self.run_command(
            *('clean', '--pool', 'volumes', '--kind', 'orphan-volume'), *words
        )

    def test_dry_run_is_the_default(self) -> None:
        self.assertEqual(0, self.clean())
        (row,) = self.rows()
        self.assertEqual(('planned', _ORPHAN), (row['Status'], row['Image']))
        self.removed.assert_not_called()
        words = ('--execute', '--dry-run', '--journal', str(self.journal))
        self.out.truncate(0)
        self.assertEqual(0, self.clean(*words))
        self.removed.assert_not_called()

    def test_execute(self) -> None:
        words = ('--execute', '--journal', str(self.journal))
        self.assertEqual(
            0, self.clean(*words, '--delay', '1', '--older-than', '0')
        )
        (row,) = self.rows()
        self.assertEqual(('done', 'moved'), (row['Status'], row['Detail']))
        (change, *_) = self.removed.call_args.args
        self.assertEqual(3600, change.rules.delay.total_seconds())
        self.assertEqual(0, change.rules.older_than.total_seconds())

    def test_no_journal(self) -> None:
        self.assertEqual(3, self.clean('--execute'))
        self.assertIn('--journal is required', self.err.getvalue())

    def test_invalid(self) -> None:
        self.assertEqual(64, self.clean('--delay', '-1'))
        self.assertEqual(64, self.clean('--kind', 'none-such'))
