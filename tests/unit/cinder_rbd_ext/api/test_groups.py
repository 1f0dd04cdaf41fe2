# SPDX-License-Identifier: Apache-2.0

from typing import Any
import uuid

from cinder import context as cinder_context
from cinder import objects
from cinder.scheduler import rpcapi as scheduler_rpcapi
from cinder.tests.unit import fake_constants as fake
from cinder.tests.unit import utils
from cinder.volume import group_types
from cinder.volume import rpcapi
import ddt

from tests.unit.cinder_rbd_ext.api import base

_ACTION = 'create-from-src'
_PATH = '/groups/action'
_OWN = {'rbd:stripe_unit': '1M', 'rbd:stripe_count': '1'}
_MADE = {
    'rbd:object_size': '4194304',
    'rbd:stripe_unit': '1048576',
    'rbd:stripe_count': '1',
    'rbd:features': 'layering',
}
_WORDS = '1 GiB is not a multiple of 1 MiB x 3'


class GroupsTestCase(base.ApiTestCase):
    """Groups of a type whose layout does not fit volumes of 1 GiB."""

    def setUp(self) -> None:
        super().setUp()
        self.set_specs('striped', rbd__stripe_unit='1M', rbd__stripe_count='3')
        self.create_group = self.mock_object(
            rpcapi.VolumeAPI, 'create_group_from_src', autospec=True
        )
        self.mock_object(
            scheduler_rpcapi.SchedulerAPI,
            'validate_host_capacity',
            autospec=True,
            return_value=True,
        )
        self.owner = cinder_context.RequestContext(
            fake.USER_ID, fake.PROJECT_ID, is_admin=True
        )

    def _group(self, volume_type: str = 'striped', **values: Any) -> str:
        """Return the id of a group with one volume that has its own keys."""
        values.setdefault('host', 'host@rbd#rbd')
        values.setdefault('group_type_id', str(uuid.uuid4()))
        group = utils.create_group(
            self.owner,
            volume_type_ids=[self.types[volume_type]],
            availability_zone='nova',
            **values,
        )
        self.source = self.volume(_OWN, _MADE, volume_type, group_id=group.id)
        return str(group.id)

    def _group_snapshot(self, group: str) -> str:
        group_type = objects.Group.get_by_id(self.owner, group).group_type_id
        taken = objects.GroupSnapshot(
            self.owner,
            group_id=group,
            group_type_id=group_type,
            user_id=self.owner.user_id,
            project_id=self.owner.project_id,
            status='available',
        )
        taken.create()
        utils.create_snapshot(
            self.owner,
            self.source.id,
            status='available',
            group_snapshot_id=taken.id,
            volume_type_id=self.source.volume_type_id,
        )
        return str(taken.id)

    def _counts(self) -> tuple[int, int]:
        groups = objects.GroupList.get_all(self.admin_context)
        return len(groups), self.volumes()


@ddt.ddt
class GroupsTest(GroupsTestCase):
    """POST groups/action with create-from-src."""

    def _refused(
        self, status: int, words: Any, source: Any, **how: Any
    ) -> None:
        before = self._counts()
        self.refused(status, words, 'POST', _PATH, {_ACTION: source}, **how)
        self.assertEqual(before, self._counts())
        self.create_group.assert_not_called()

    def _accepted(self, **source: Any) -> None:
        groups, volumes = self._counts()
        self.ok('POST', _PATH, {_ACTION: source})
        self.assertEqual((groups + 1, volumes + 1), self._counts())
        self.create_group.assert_called_once()

    def test_clone_of_group_checks_each_source(self) -> None:
        group = self._group()
        words = (
            _WORDS,
            f'the source is {self.source.id}',
            'the source has 4 MiB objects',
        )
        self._refused(400, words, {'source_group_id': group})

    def test_group_snapshot(self) -> None:
        ident = self._group_snapshot(self._group())
        self._refused(400, _WORDS, {'group_snapshot_id': ident})

    def test_size_that_fits(self) -> None:
        group = self._group()
        self.source.size = 3
        self.source.save()
        self._accepted(source_group_id=group)

    def test_snapshot_of_a_size_that_fits(self) -> None:
        group = self._group()
        self.source.size = 3
        self.source.save()
        ident = self._group_snapshot(group)
        self.source.size = 1
        self.source.save()
        self._accepted(group_snapshot_id=ident)

    def test_type_without_a_layout(self) -> None:
        self._accepted(source_group_id=self._group('rbd'))

    def test_back_end_of_the_group(self) -> None:
        """Another back end of the type would accept the volume."""
        self.set_specs('both', rbd__stripe_unit='1M', rbd__stripe_count='4')
        self.get_pools.return_value = [
            base.pool('rbd', base.settings()),
            base.pool('rbd2', base.settings(max_stripe_count=3)),
        ]
        group = self._group('both', host='host@rbd2#rbd2')
        self._refused(400, 'rbd:stripe_count', {'source_group_id': group})
        self._accepted(source_group_id=self._group('both'))

    def test_group_that_does_not_exist(self) -> None:
        ident = str(uuid.uuid4())
        words = f'Group {ident} could not be found'
        self._refused(404, words, {'source_group_id': ident})
        words = f'GroupSnapshot {ident} could not be found'
        self._refused(404, words, {'group_snapshot_id': ident})

    def test_group_of_another_project(self) -> None:
        group = self._group()
        taken = self._group_snapshot(group)
        words = f'Group {group} could not be found'
        source = {'source_group_id': group}
        self._refused(404, words, source, app=self.stranger)
        words = f'GroupSnapshot {taken} could not be found'
        source = {'group_snapshot_id': taken}
        self._refused(404, words, source, app=self.stranger)

    def test_cinders_policy_first(self) -> None:
        group = self._group()
        self.enforce_new_defaults()
        source = {'source_group_id': group}
        self._refused(400, 'group:create', source, app=self.reader)

    def test_private_type(self) -> None:
        """Cinder refuses it without the extra specs of the type."""
        self.add_type('secret', {'rbd:stripe_unit': '1M'}, is_public=False)
        self.set_specs('secret', rbd__stripe_count='3')
        body = {_ACTION: {'source_group_id': self._group('secret')}}
        response = self.call('POST', _PATH, body)
        self.assertIn(response.status_int, (400, 404))
        self.assertNotIn('not a multiple', response.text)

    @ddt.data(
        None,
        5,
        [],
        {},
        {'source_group_id': None},
        {'source_group_id': 5},
        {'group_snapshot_id': {}},
        {'source_group_id': base.UNSTORABLE},
        {'group_snapshot_id': base.UNSTORABLE},
        {'source_group_id': fake.UUID1, 'group_snapshot_id': fake.UUID2},
        {'source_group_id': fake.UUID1, 'group_snapshot_id': None},
    )
    def test_malformed_group_source_gets_stock_refusal(
        self, source: Any
    ) -> None:
        """Cinder refuses it."""
        self._refused(400, '', source)

    def test_before_the_action_existed(self) -> None:
        source = {'source_group_id': self._group()}
        self._refused(404, '', source, version='3.13')
        self._refused(400, _WORDS, source, version='3.14')

    def test_group_in_the_path(self) -> None:
        """Cinder has the route, but its method does not accept the id."""
        group = self._group()
        body = {_ACTION: {'source_group_id': group}}
        response = self.call('POST', f'/groups/{group}/action', body)
        self.assertEqual(400, response.status_int)
        self.assertNotIn('not a multiple', response.text)


class ConsistencyGroupsTest(GroupsTestCase):
    """POST consistencygroups/create_from_src."""

    def setUp(self) -> None:
        super().setUp()
        group_type = group_types.get_default_cgsnapshot_type()
        self.group = self._group(group_type_id=group_type['id'])

    def _refused(self, status: int, words: Any, source: Any) -> None:
        before = self._counts()
        path = '/consistencygroups/create_from_src'
        body = {'consistencygroup-from-src': source}
        self.refused(status, words, 'POST', path, body, version='3.0')
        self.assertEqual(before, self._counts())

    def test_clone_of_consistency_group_checks_each_source(self) -> None:
        self._refused(400, _WORDS, {'source_cgid': self.group})

    def test_group_snapshot(self) -> None:
        taken = self._group_snapshot(self.group)
        self._refused(400, _WORDS, {'cgsnapshot_id': taken})

    def test_malformed_consistency_group_gets_stock_refusal(self) -> None:
        self._refused(400, '', {})
        both = {'source_cgid': self.group, 'cgsnapshot_id': fake.UUID1}
        self._refused(400, '', both)


@ddt.ddt
class GroupSnapshotsTest(GroupsTestCase):
    """Group snapshots of a group with a volume that is being reverted."""

    def setUp(self) -> None:
        super().setUp()
        self.requested = [
            self.mock_object(rpcapi.VolumeAPI, name, autospec=True)
            for name in ('create_group_snapshot', 'delete_group_snapshot')
        ]

    def _set_status(self, status: str) -> None:
        self.source.status = status
        self.source.save()

    @ddt.data(
        ('group_snapshot', 'group_id', None),
        ('cgsnapshot', 'consistencygroup_id', '3.0'),
    )
    @ddt.unpack
    def test_request_that_would_wait_for_the_revert_is_refused(
        self, kind: str, key: str, version: str | None
    ) -> None:
        values = {}
        if kind == 'cgsnapshot':
            group_type = group_types.get_default_cgsnapshot_type()
            values = {'group_type_id': group_type['id']}
        group = self._group(**values)
        taken = self._group_snapshot(group)
        requests: tuple[Any, ...] = (
            ('POST', f'/{kind}s', {kind: {key: group, 'name': 'new'}}),
            ('DELETE', f'/{kind}s/{taken}'),
        )
        self._set_status('reverting')
        for each in requests:
            self.refused(400, 'is being reverted', *each, version=version)
        for method in self.requested:
            method.assert_not_called()
        self._set_status('available')
        for each in requests:
            self.ok(*each, version=version)
        for method in self.requested:
            method.assert_called_once()

    def test_group_of_another_project_is_not_found(self) -> None:
        group = self._group()
        taken = self._group_snapshot(group)
        self._set_status('reverting')
        body = {'group_snapshot': {'group_id': group, 'name': 'new'}}
        for words, *request in (
            (f'Group {group} could', 'POST', '/group_snapshots', body),
            (f'{taken} could', 'DELETE', f'/group_snapshots/{taken}'),
        ):
            self.refused(404, words, *request, app=self.stranger)
