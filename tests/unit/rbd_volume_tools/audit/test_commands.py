# SPDX-License-Identifier: Apache-2.0

import json
import pathlib
from typing import Any

import ddt
import fixtures

from rbd_volume_tools.audit import images
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs
from tests.unit.rbd_volume_tools.fleet import commands


@ddt.ddt
class AuditTest(commands.CommandTestCase):
    """Tests of the ``cinder-rbd-ext audit`` command."""

    def audit(self, *arguments: str) -> int:
        self.out.truncate(0)
        self.out.seek(0)
        return self.run_plain('audit', *arguments)

    def found(self, *arguments: str) -> list[dict[str, Any]]:
        self.audit(*arguments, '-f', 'json')
        return self.rows()

    def test_cluster_that_the_cloud_does_not_use_is_told(self) -> None:
        """Neither a ghost nor an image in another pool can be found there."""
        self.audit()
        self.assertNotIn('no back end', self.err.getvalue())
        self.known = facts.known(
            facts.volume(),
            backends={},
            cluster='copy',
            elsewhere=frozenset({facts.CINDER_POOL}),
        )
        self.assertEqual(0, self.audit())
        self.assertIn('cluster copy is that of no', self.err.getvalue())

    def test_status_follows_worst_finding(self) -> None:
        self.assertEqual(0, self.audit())
        self.pool.images.append(f'volume-{facts.OTHER}.deleted')
        self.assertEqual(1, self.audit())
        self.pool.images.remove(f'volume-{facts.IDENT}')
        self.assertEqual(1, self.audit())

    def test_pool_that_may_not_be_read_makes_the_audit_incomplete(
        self,
    ) -> None:
        self.pool.forbidden = stubs.PermissionError('listing')
        (row,) = self.found('--no-cloud')
        self.assertEqual('not-readable', row['Kind'])
        self.assertIn('client.me may not list', row['Detail'])
        self.assertIn('not readable: volumes\n', self.err.getvalue())
        self.assertEqual(2, self.audit('--no-cloud'))

    def test_unreachable_cluster_ends_with_status_3(self) -> None:
        self.connected.side_effect = OSError('no \x1b[1mcluster')
        self.assertEqual(3, self.audit())
        self.assertIn('no \\x1b[1mcluster', self.err.getvalue())

    def test_no_cloud(self) -> None:
        self.known = facts.known()
        self.assertEqual(2, len(self.found()))
        self.assertEqual(1, len(self.found('--no-cloud')))

    def test_kind_selects_findings(self) -> None:
        self.assertEqual([], self.found('--kind', 'orphan-volume'))
        self.assertEqual(3, self.audit('--kind', 'none-such'))

    def test_counts_are_shown_in_words(self) -> None:
        (row,) = self.found('--counts')
        self.assertEqual(
            ('volumes', 'volume', 'type', 'none', 1, 2**23),
            tuple(row.values()),
        )
        self.audit('--counts')
        self.assertIn('8 MiB', self.out.getvalue())

    def test_used_space(self) -> None:
        self.replace(images, 'used_bytes', return_value=2**22)
        (row,) = self.found('--counts', '--used')
        self.assertEqual(2**22, row['Used'])
        self.audit('--counts', '--used')
        self.assertIn('4 MiB', self.out.getvalue())

    def test_output_writes_whole_report(self) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).join('a'))
        self.audit('--output', str(path))
        self.assertEqual(1, len(json.loads(path.read_text())['images']))

    @ddt.data('none/a', '')
    def test_output_is_checked_before_the_scan(self, name: str) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, name)
        self.assertEqual(3, self.audit('--output', str(path)))
        self.assertIn(str(path), self.err.getvalue())
        self.connected.assert_not_called()

    def test_wrong_options_have_the_status_of_wrong_arguments(self) -> None:
        for number in ('0', '-5', 'x'):
            words = ('--objects', '--objects-per-second', number)
            self.assertEqual(3, self.audit(*words))
