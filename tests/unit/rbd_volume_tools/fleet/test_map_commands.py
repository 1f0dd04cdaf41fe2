# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_options import wire
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import map_changes
from rbd_volume_tools.fleet import recorded
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs
from tests.unit.rbd_volume_tools.fleet import commands


@ddt.ddt
class ObjectMapTest(commands.CommandTestCase):
    def object_map(self, *words: str) -> int:
        return self.run_command('object-map', *words)

    def apply(self, detail: str) -> None:
        """Have a change succeed; the functional tests make changes."""
        self.replace(map_changes.MapChange, 'apply', return_value=detail)
        self.pool.mon_command = lambda *args: (
            (0, b'{"status": "HEALTH_OK"}', '')
        )
        self.pool.get_instance_id = lambda: 41  # type: ignore[attr-defined]

    def test_check_refuses_image_without_map(self) -> None:
        self.assertEqual(1, self.object_map('check', '--volumes'))
        (row,) = self.rows()
        self.assertEqual('refused', row['Status'])
        self.assertIn('object-map enable', row['What to do'])
        self.assertIn('1 images: 1 refused', self.err.getvalue())

    def test_pool_that_may_not_be_read_is_a_row(self) -> None:
        self.pool.forbidden = stubs.PermissionError('listing')
        self.assertEqual(2, self.object_map('check', '--volumes'))
        (row,) = self.rows()
        self.assertEqual(
            ('failed', 'volumes', ''),
            (row['Status'], row['Pool'], row['Image']),
        )
        self.assertIn('--pool', row['What to do'])
        self.assertEqual(3, self.object_map('check', facts.IDENT))
        self.assertIn('may not read the pools volumes', self.err.getvalue())

    @ddt.data(facts.IDENT, '--volumes')
    def test_pools_without_the_chosen_volumes_do_not_matter(
        self, chosen: str
    ) -> None:
        def open_ioctx(pool: str) -> stubs.Pool:
            if pool == 'backups':
                self.pool.forbidden = stubs.PermissionError('listing')
            return self.pool

        self.pool.open_ioctx = open_ioctx  # type: ignore[method-assign]
        # The other pool is read first.
        self.replace(
            scan.Cluster, 'pools', return_value=['volumes', 'backups']
        )
        words = ('enable', chosen, '--dry-run')
        self.assertEqual(0, self.object_map(*words))

    def test_unknown_volume_type_is_named(self) -> None:
        words = ('enable', '--volume-type', 'sdd', '--dry-run')
        self.assertEqual(3, self.object_map(*words))
        self.assertIn('no volume type sdd', self.err.getvalue())

    def test_unknown_project_is_refused(self) -> None:
        for status, project in ((0, 'project'), (3, 'name')):
            words = ('enable', '--project', project, '--dry-run')
            self.assertEqual(status, self.object_map(*words), project)
        self.assertIn('--project name: ', self.err.getvalue())

    def test_dry_run(self) -> None:
        words = ('enable', facts.IDENT, '--dry-run')
        self.assertEqual(0, self.object_map(*words))
        (row,) = self.rows()
        self.assertEqual('planned', row['Status'])
        self.assertEqual('project', row['Project'])

    def test_change_and_resume(self) -> None:
        self.apply('enabled it')
        words = ('enable', '--pool', 'volumes', '--journal', self.journal)
        self.assertEqual(0, self.object_map(*map(str, words)))
        (row,) = self.rows()
        self.assertEqual(
            ('done', 'enabled it'), (row['Status'], row['Detail'])
        )
        self.out.truncate(0)
        self.out.seek(0)
        # As it is after the change.
        self.replace(decisions, 'plan', return_value=decisions.Plan())
        self.assertEqual(0, self.object_map(*map(str, words)))
        (row,) = self.rows()
        self.assertEqual('done earlier', row['Status'])
        self.assertIn('Resuming', self.err.getvalue())
        words = ('disable', *words[1:])
        self.assertEqual(3, self.object_map(*map(str, words)))
        self.assertIn('a journal of', self.err.getvalue())

    def test_no_journal(self) -> None:
        self.assertEqual(3, self.object_map('enable', '--volumes'))
        self.assertIn('--journal is required', self.err.getvalue())

    @ddt.data(
        ((), 3, 'Choose images'),
        ((facts.OTHER,), 3, f'No image was found for: {facts.OTHER}'),
        ((facts.IDENT, '--volumes'), 3, 'already includes'),
    )
    @ddt.unpack
    def test_selection_must_be_unambiguous(
        self, words: tuple[str, ...], status: int, text: str
    ) -> None:
        returned = self.object_map('enable', *words, '--dry-run')
        self.assertEqual(status, returned)
        self.assertIn(text, self.err.getvalue())

    def test_record_is_corrected_with_cinder_config(self) -> None:
        self.known = facts.known(
            facts.volume(made={wire.ATTRIBUTE_FEATURES: ['layering']})
        )
        words = ('enable', '--volumes', '--dry-run')
        self.assertEqual(1, self.object_map(*words))
        self.out.truncate(0)
        self.out.seek(0)
        recorder = self.replace(recorded, 'recorder')
        stored = self.replace(databases, 'Databases').return_value
        stored.volumes.return_value = [databases.Row(False)]
        self.assertEqual(0, self.object_map(*words, '--cinder-config', 'c'))
        recorder.assert_called_once_with('c')
        stored.volumes.assert_called_once_with(facts.IDENT)

    def test_database_of_another_cloud_is_refused(self) -> None:
        self.replace(recorded, 'recorder')
        stored = self.replace(databases, 'Databases').return_value
        words = ('enable', '--volumes', '--dry-run', '--cinder-config', 'c')
        for rows in ([], [databases.Row(True)]):
            stored.volumes.return_value = rows
            self.assertEqual(3, self.object_map(*words))
            self.assertIn('does not have volume', self.err.getvalue())

    def test_interrupted_scan_ends_with_status_3(self) -> None:
        self.replace(scan.Cluster, 'scan', side_effect=KeyboardInterrupt)
        self.assertEqual(3, self.object_map('check', '--volumes'))
        self.assertIn('Cancelled', self.err.getvalue())
