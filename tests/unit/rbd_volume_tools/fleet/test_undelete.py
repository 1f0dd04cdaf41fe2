# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
from typing import Any
from unittest import mock

import ddt
import fixtures
from keystoneauth1 import exceptions as keystone

from rbd_volume_options import trash_mark
from rbd_volume_tools.audit import objects
from rbd_volume_tools.command_line import plan_file
from rbd_volume_tools.fleet import undelete
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.fleet import commands
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_NAME = f'volume-{facts.IDENT}'
_DAY = datetime.timedelta(days=1)


@ddt.ddt
class UndeleteTest(commands.CommandTestCase):
    def setUp(self) -> None:
        super().setUp()
        now = plan_file.now()
        self.entry = objects.Trashed(
            *(
                'volumes',
                _NAME,
                'abc',
                objects.TrashSource.USER,
                now,
                now + _DAY,
            ),
            mark=trash_mark.Mark(
                *(trash_mark.DELETED, 'project', facts.IDENT, 2**30),
                record={
                    'host': 'host@rbd#rbd',
                    'cluster': None,
                    'name': 'data',
                    'volume_type': 'type-id',
                    'metadata': {'a': 'b'},
                    'bootable': True,
                    'image_metadata': {'os': 'linux'},
                },
            ),
        )
        self.replace(objects, 'trash', side_effect=lambda *args: [self.entry])
        self.id_of = self.replace(objects, 'id_of', return_value=('abc', 1))
        self.marked = self.replace(trash_mark, 'write')
        rbd = mock.Mock(spec_set=['trash_restore', 'trash_move', 'list'])
        rbd.list.return_value = []
        self.rbd = rbd
        self.pool.RBD = lambda: rbd  # type: ignore[method-assign]
        self.storage = mock.Mock(spec_set=['get', 'post'])
        self.storage.post.return_value = fake_cloud.response(
            202, {'volume': {'id': 'new'}}
        )
        self.answers = ['managing', 'available']
        self.storage.get.side_effect = lambda path: fake_cloud.response(
            200, {'volume': {'status': self.answers.pop(0)}}
        )
        self.project = mock.Mock(block_storage=self.storage)
        connect = self.cloud.return_value.connect_as_project
        connect.return_value = self.project
        self.connect = connect
        self.useFixture(
            fixtures.MonkeyPatch(f'{undelete.__name__}.INTERVAL', 0)
        )

    def undelete(self, *words: str) -> int:
        return self.run_command(
            'fleet', 'undelete', '--pool', 'volumes', *words
        )

    def result(self) -> str:
        (row,) = self.rows()
        return str(row['Result'])

    def test_volumes_that_can_be_restored_are_listed(self) -> None:
        self.assertEqual(0, self.undelete())
        (row,) = self.rows()
        self.assertEqual(
            (facts.IDENT, 'data', 'project', '1 GiB'),
            tuple(row[x] for x in ('Volume', 'Name', 'Project', 'Size')),
        )
        self.rbd.trash_restore.assert_not_called()

    def test_image_is_restored_and_managed_in_its_project(self) -> None:
        self.assertEqual(0, self.undelete(facts.IDENT))
        self.assertEqual('restored as new', self.result())
        self.connect.assert_called_once_with({'id': 'project'})
        self.rbd.trash_restore.assert_called_once_with(self.pool, 'abc', _NAME)
        managed, metadata = self.storage.post.call_args_list
        self.assertEqual(
            {
                'host': 'host@rbd#rbd',
                'name': 'data',
                'volume_type': 'type-id',
                'metadata': {'a': 'b'},
                'bootable': True,
                'ref': {'source-name': _NAME},
            },
            managed.kwargs['json']['volume'],
        )
        self.assertIn('os-set_image_metadata', metadata.kwargs['json'])
        self.rbd.trash_move.assert_not_called()

    @ddt.data((413, 'VolumeSizeExceedsAvailableQuota'), (404, 'no such type'))
    @ddt.unpack
    def test_image_goes_back_to_the_trash_if_cinder_refuses_it(
        self, status: int, text: str
    ) -> None:
        self.storage.post.return_value = fake_cloud.fault(status, text)
        self.assertEqual(1, self.undelete(facts.IDENT))
        self.assertIn(text, self.result())
        self.rbd.trash_move.assert_called_once()
        *_, delay = self.rbd.trash_move.call_args.args
        self.assertAlmostEqual(86400, delay, delta=60)
        # The purger takes it for its own again.
        self.marked.assert_called_once()

    def test_image_that_has_become_a_volume_is_not_moved(self) -> None:
        self.id_of.return_value = None
        self.answers = ['error_managing']
        self.assertEqual(1, self.undelete(facts.IDENT))
        self.assertIn('new is error_managing', self.result())
        self.rbd.trash_move.assert_not_called()

    def test_user_without_a_role_in_the_project_restores_nothing(self) -> None:
        self.project.authorize.side_effect = keystone.Unauthorized('no role')
        self.assertEqual(1, self.undelete(facts.IDENT))
        self.assertIn('openstack role add', self.result())
        self.rbd.trash_restore.assert_not_called()

    @ddt.data(
        {'expires': plan_file.now()}, {'state': objects.TrashState.REMOVING}
    )
    def test_image_that_may_be_removed_now_is_not_restored(
        self, values: dict[str, Any]
    ) -> None:
        self.entry = dataclasses.replace(self.entry, **values)
        self.assertEqual(1, self.undelete(facts.IDENT))
        self.assertIn('is being removed', self.result())
        self.rbd.trash_restore.assert_not_called()

    def test_volume_that_is_not_in_the_trash_has_a_reason(self) -> None:
        self.assertEqual(1, self.undelete(facts.OTHER))
        self.assertIn('kept for clones', self.result())
        self.id_of.return_value = None
        self.assertEqual(1, self.undelete(facts.OTHER))
        self.assertIn('no pool has it', self.result())
