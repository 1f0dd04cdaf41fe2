# SPDX-License-Identifier: Apache-2.0

"""What clients of a pool can write does not blind the commands."""

import json

import rados

from tests import runs
from tests.functional.maintenance import clean_case
from tests.functional.maintenance import object_map_case


def damage(ioctx: object, ident: str) -> None:
    """Give the header of an image an order by which librbd divides by zero."""
    with rados.WriteOpCtx() as operation:
        ioctx.set_omap(operation, ('order',), (b'\xff',))  # type: ignore[attr-defined]
        ioctx.operate_write_op(  # type: ignore[attr-defined]
            operation, f'rbd_header.{ident}'
        )


@runs.tags(runs.DEBIAN)
class DamagedTest(object_map_case.ObjectMapTestCase):
    def test_image_that_ends_its_process_is_one_finding(self) -> None:
        ioctx = self.cluster.ioctx()
        name, healthy = self.volume(), self.make('healthy', 1)
        with self.cluster.image(name, read_only=True) as image:
            ident = image.id()
        header = f'rbd_header.{ident}'
        with rados.ReadOpCtx() as operation:
            values, _ = ioctx.get_omap_vals(operation, '', '', 100)
            ioctx.operate_read_op(operation, header)
            before = dict(values)
        damage(ioctx, ident)
        self.addCleanup(self._restore, header, before)
        # Entries without an ID, which no client of Ceph writes.
        for key, entry in (('rbd_trash', 'id_'), ('rbd_directory', 'name_')):
            with rados.WriteOpCtx() as operation:
                ioctx.set_omap(operation, (entry,), (b'',))
                ioctx.operate_write_op(operation, key)
            self.addCleanup(self._forget, key, entry)

        done = self.run_command('audit', '--pool', 'volumes')

        self.assertTrue(done.stdout, done.stderr)
        rows = json.loads(done.stdout)
        details = {(row['Kind'], row['Image']): row['Detail'] for row in rows}
        self.assertIn('SIGFPE', details['cannot-be-opened', name], done.stderr)
        self.assertIn(('damaged-trash-entry', ''), details)
        self.assertIn(('unknown-name', healthy), details)
        self.assertEqual(1, done.returncode)

    def _restore(self, header: str, values: dict[str, bytes]) -> None:
        with rados.WriteOpCtx() as operation:
            self.cluster.ioctx().set_omap(
                operation, tuple(values), tuple(values.values())
            )
            self.cluster.ioctx().operate_write_op(operation, header)

    def _forget(self, key: str, entry: str) -> None:
        with rados.WriteOpCtx() as operation:
            self.cluster.ioctx().remove_omap_keys(operation, (entry,))
            self.cluster.ioctx().operate_write_op(operation, key)


@runs.tags(runs.DEBIAN)
class DamagedLeftoverTest(clean_case.CleanTestCase):
    def test_plan_refuses_what_would_end_its_process(self) -> None:
        """Also in the trash, where the audit opens nothing."""
        damaged = self.deleted()
        ident = self.trashed(damaged)
        orphan = self.deleted()
        self.services.delete_now()
        ioctx = self.ceph.ioctx()
        damage(ioctx, ident)
        self.addCleanup(self._restore_order, ident)
        planned = self.plan()
        self.expect(planned, damaged, 'damaged')
        self.assertIn(f'volumes/{orphan}', planned)

    def _restore_order(self, ident: str) -> None:
        with rados.WriteOpCtx() as operation:
            ioctx = self.ceph.ioctx()
            ioctx.set_omap(operation, ('order',), (b'\x16',))
            ioctx.operate_write_op(operation, f'rbd_header.{ident}')
