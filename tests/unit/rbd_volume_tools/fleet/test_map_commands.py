# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_options import definitions
from rbd_volume_tools.audit import scan
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs
from tests.unit.rbd_volume_tools.fleet import commands


@ddt.ddt
class ObjectMapTest(commands.CommandTestCase):
    noun = 'object-map'

    def test_pool_that_may_not_be_read_is_a_row(self) -> None:
        self.pool.forbidden = stubs.PermissionError('listing')
        self.assertEqual(2, self.plan('--volumes'))
        (row,) = self.rows()
        self.assertEqual(
            ('failed', 'volumes', ''),
            (row['Status'], row['Pool'], row['Image']),
        )
        self.assertIn('--pool', row['What to do'])
        self.assertEqual(3, self.plan(facts.IDENT))
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
        self.assertEqual(0, self.plan(chosen))

    @ddt.data(
        ((), 3, 'Choose images'),
        ((facts.OTHER,), 3, f'No image was found for: {facts.OTHER}'),
        ((facts.IDENT, '--volumes'), 3, 'already includes'),
        (('--volume-type', 'sdd'), 3, 'no volume type sdd'),
        (('--project', 'name'), 3, '--project name: '),
        (('--project', 'project'), 0, '1 planned'),
        (('--volumes', '--action', 'none'), 3, 'invalid choice'),
    )
    @ddt.unpack
    def test_selection_must_be_unambiguous(
        self, words: tuple[str, ...], status: int, text: str
    ) -> None:
        self.assertEqual(status, self.plan(*words))
        self.assertIn(text, self.err.getvalue())
        self.assertEqual(not status, self.path.exists())

    @ddt.data(
        ('enable', 'planned'), ('rebuild', 'refused'), ('disable', 'unchanged')
    )
    @ddt.unpack
    def test_plan_shows_what_would_be_done(
        self, action: str, status: str
    ) -> None:
        self.plan(facts.IDENT, '--action', action)
        (row,) = self.rows()
        self.assertEqual((status, 'project'), (row['Status'], row['Project']))

    def test_recorded_features_are_left_to_cinder(self) -> None:
        self.known = facts.known(
            facts.volume(made={definitions.ATTRIBUTE_FEATURES: ['layering']})
        )
        self.assertEqual(1, self.plan('--volumes'))
        (row,) = self.rows()
        self.assertIn('retype plan', row['What to do'])

    def test_interrupted_scan_ends_with_status_3(self) -> None:
        self.replace(scan.Cluster, 'scan', side_effect=KeyboardInterrupt)
        self.assertEqual(3, self.plan('--volumes'))
        self.assertIn('Cancelled', self.err.getvalue())
