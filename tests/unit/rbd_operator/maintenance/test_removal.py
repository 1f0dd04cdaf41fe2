# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_operator.maintenance.removal.

The functional test of clean examines and removes things on a cluster; this is
for states that are hard to plant.
"""

import dataclasses
import datetime
from typing import Any
from unittest import mock

import ddt

from rbd_operator.audit import findings
from rbd_operator.audit import objects
from rbd_operator.maintenance import decisions
from rbd_operator.maintenance import evidence
from rbd_operator.maintenance import outcomes
from rbd_operator.maintenance import removal
from rbd_volume_options import wire
from tests import feature_bits
from tests.unit import base
from tests.unit.rbd_operator.audit import facts
from tests.unit.rbd_operator.maintenance import stubs

_NAME = f'volume-{facts.IDENT}'
_HOUR = datetime.timedelta(hours=1)


class _Image:
    """An image of two hours ago, which is also the module and the cluster."""

    RBD_MIRROR_IMAGE_DISABLED = 2
    RBD_SNAP_NAMESPACE_TYPE_USER = 0
    RBD_FEATURE_MIGRATING = feature_bits.MIGRATING

    def __init__(self) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        self.created = (now - 2 * _HOUR).replace(tzinfo=None)
        self.accessed = self.created
        self.mirror_state = self.RBD_MIRROR_IMAGE_DISABLED
        self.ident = 'abc'
        self.moved: list[tuple[str, int]] = []
        self.snapshots: list[str] = []
        self.namespaces: dict[str, int] = {}
        self.librbd = self.librados = self

    def Image(self, ioctx: Any, name: str = '', **kwargs: Any) -> Any:
        return self

    def RBD(self) -> '_Image':
        return self

    def __enter__(self) -> '_Image':
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def watchers_list(self) -> list[Any]:
        return []

    list_lockers = metadata_list = list_children2 = watchers_list

    def list_snaps(self) -> list[dict[str, Any]]:
        return [
            {
                'id': name,
                'name': name,
                'size': 2**30,
                'namespace': self.namespaces.get(name, 0),
            }
            for name in self.snapshots
        ]

    def set_snap_by_id(self, ident: int) -> None:
        pass

    def set_snap(self, name: None) -> None:
        pass

    def get_snap_timestamp(self, ident: int) -> datetime.datetime:
        return self.created

    def is_protected_snap(self, name: str) -> bool:
        """Answer about the snapshots of users only."""
        if self.namespaces.get(name):
            raise stubs.ImageNotFound(name)
        return False

    def remove_snap_by_id(self, ident: str) -> None:
        self.snapshots.remove(ident)

    def trash_remove(self, ioctx: Any, ident: str, force: bool) -> None:
        self.purged = ident

    def create_timestamp(self) -> datetime.datetime:
        return self.created

    modify_timestamp = create_timestamp

    def access_timestamp(self) -> datetime.datetime:
        return self.accessed

    def size(self) -> int:
        return 2**30

    def features(self) -> int:
        return feature_bits.DEFAULT

    def group(self) -> dict[str, str]:
        return {'name': ''}

    def mirror_image_get_info(self) -> dict[str, int]:
        return {'state': self.mirror_state}

    def id(self) -> str:
        return self.ident

    def get_pool_id(self) -> int:
        return 1

    def trash_move(self, ioctx: Any, name: str, delay: int) -> None:
        self.moved.append((name, delay))


@ddt.ddt
class RemovalTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.image: Any = _Image()
        self.proofs = mock.create_autospec(evidence.Evidence, instance=True)
        self.proofs.proof.return_value = evidence.Proof('a proof')
        self.proofs.volume.return_value = facts.volume()
        self.proofs.moved_to.return_value = ''
        patch = mock.patch.object(
            objects, 'trash_entry', autospec=True, return_value=None
        )
        self.in_trash = patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            objects, 'directory', autospec=True, return_value={}
        )
        self.directory = patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            objects, 'id_of', autospec=True, return_value=None
        )
        self.id_of = patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            objects, 'named_at', autospec=True, return_value=None
        )
        self.named_at = patch.start()
        self.addCleanup(patch.stop)
        cluster: Any = self.image
        self.examiner = removal.Examiner(
            cluster, self.proofs, removal.Rules(48 * _HOUR, _HOUR)
        )

    def item(self) -> removal.Item:
        return self.examiner.examine(
            *(self.image, findings.ORPHAN_VOLUME, 'volumes', _NAME, 'abc')
        )

    def test_item_goes_to_the_trash_for_the_delay(self) -> None:
        change = removal.Removal(self.item(), self.examiner)
        self.assertIn('2 days', change.apply(None, self.image, frozenset()))
        self.assertEqual([(_NAME, 172800)], self.image.moved)

    @ddt.data('ident', 'accessed')
    def test_image_that_changed_since_the_plan_is_refused(
        self, what: str
    ) -> None:
        change = removal.Removal(self.item(), self.examiner)
        value: Any = 'bcd'
        if what == 'accessed':
            value = self.image.created + _HOUR / 2
        setattr(self.image, what, value)
        error = self.assertRaises(
            outcomes.Refused, change.apply, None, self.image, frozenset()
        )
        self.assertIs(removal.CHANGED, error.reason)
        self.assertEqual([], self.image.moved)

    def test_last_access_counts_for_the_age(self) -> None:
        self.image.accessed = self.image.created + 1.5 * _HOUR
        error = self.assertRaises(outcomes.Refused, self.item)
        self.assertIs(removal.TOO_YOUNG, error.reason)

    def test_restored_image_is_as_young_as_its_name(self) -> None:
        """A restoration from the trash changes nothing else."""
        now = datetime.datetime.now(datetime.timezone.utc)
        self.named_at.return_value = now - 1.5 * _HOUR
        item = self.item()
        *_, created = self.proofs.proof.call_args.args
        self.assertEqual(self.named_at.return_value, created)
        self.assertEqual(created.isoformat(), item.last_sign)
        self.named_at.return_value = now
        error = self.assertRaises(outcomes.Refused, self.item)
        self.assertIs(removal.TOO_YOUNG, error.reason)

    def test_deletion_of_the_owner_counts_for_the_age(self) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        self.proofs.proof.return_value = evidence.Proof('a proof', now)
        error = self.assertRaises(outcomes.Refused, self.item)
        self.assertIs(removal.TOO_YOUNG, error.reason)

    def test_mirrored_image_is_refused(self) -> None:
        self.image.mirror_state = 1
        error = self.assertRaises(outcomes.Refused, self.item)
        self.assertIs(removal.MIRRORED, error.reason)

    def test_move_that_was_killed_is_resumed(self) -> None:
        """librbd finds an unfinished move by the state of its entry."""
        item = self.item()
        now = datetime.datetime.now(datetime.timezone.utc)
        self.in_trash.return_value = objects.Trashed(
            *('volumes', _NAME, 'abc', objects.Source.USER, now, now),
            state=objects.State.MOVING,
        )
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            removal.Removal(item, self.examiner).apply(
                None, self.image, frozenset()
            )
        self.assertEqual([(_NAME, 172800)], self.image.moved)

    @ddt.data(
        (findings.IN_TRASH, objects.State.REMOVING, True),
        (findings.IN_TRASH, objects.State.SETTLED, True),
        (findings.IN_TRASH, objects.State.MOVING, False),
        (findings.IN_TRASH, objects.State.RESTORING, False),
        (findings.HALF_TRASHED, objects.State.MOVING, True),
        (findings.HALF_TRASHED, objects.State.REMOVING, False),
        (findings.HALF_TRASHED, objects.State.RESTORING, False),
    )
    @ddt.unpack
    def test_interrupted_operation_of_the_trash_is_completed_by_its_own_kind(
        self, kind: findings.Kind, state: objects.State, is_removed: bool
    ) -> None:
        long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        self.in_trash.return_value = objects.Trashed(
            *('volumes', _NAME, 'abc', objects.Source.USER),
            *(long_ago, long_ago, state),
        )
        examine = (self.examiner.examine, self.image, kind, 'volumes', _NAME)
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            if is_removed:
                examine[0](*examine[1:], 'abc')
                return
            error = self.assertRaises(outcomes.Refused, *examine, 'abc')
        self.assertIs(removal.DEFERRED, error.reason)

    @ddt.data(None, objects.State.RESTORING)
    def test_image_that_is_restored_meanwhile_keeps_its_snapshots(
        self, state: objects.State | None
    ) -> None:
        long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        entry = objects.Trashed(
            *('volumes', _NAME, 'abc', objects.Source.USER),
            *(long_ago, long_ago),
        )
        restored = state and dataclasses.replace(entry, state=state)
        # The plan, the examination, and one look before each snapshot.
        self.in_trash.side_effect = [entry, entry, entry, restored]
        self.image.snapshots = ['one', 'two']
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            item = self.examiner.examine(
                *(self.image, findings.IN_TRASH, 'volumes', _NAME, 'abc')
            )
            change = removal.Removal(item, self.examiner)
            error = self.assertRaises(
                outcomes.Refused, change.apply, None, self.image, frozenset()
            )
        self.assertIs(removal.CHANGED, error.reason)
        self.assertEqual(['two'], self.image.snapshots)

    def test_snapshot_in_the_trash_of_librbd_is_removed(self) -> None:
        """It stays there if the client of its last clone was killed."""
        long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        self.in_trash.return_value = objects.Trashed(
            *('volumes', _NAME, 'abc', objects.Source.USER),
            *(long_ago, long_ago),
        )
        self.image.snapshots = ['one', 'two']
        self.image.namespaces = {'two': 2}
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            item = self.examiner.examine(
                *(self.image, findings.IN_TRASH, 'volumes', _NAME, 'abc')
            )
            change = removal.Removal(item, self.examiner)
            change.apply(None, self.image, frozenset())
        self.assertEqual([], self.image.snapshots)
        self.assertEqual('abc', self.image.purged)

    def test_name_stays_while_a_pool_cannot_be_listed(self) -> None:
        """There may be data, which nothing else would name."""
        listed = objects.Inventory()
        self.image.inventory = lambda progress: listed
        examine = (self.examiner.examine, self.image, findings.HALF_REMOVED)
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=False
        ):
            examine[0](*examine[1:], 'volumes', _NAME, 'abc')
            listed.unlisted['data'] = 'not permitted'
            error = self.assertRaises(
                outcomes.Refused, *examine, 'volumes', _NAME, 'abc'
            )
        self.assertIs(removal.UNLISTED, error.reason)

    def test_name_that_has_another_image_is_not_moved(self) -> None:
        item = self.item()
        now = datetime.datetime.now(datetime.timezone.utc)
        self.in_trash.return_value = objects.Trashed(
            *('volumes', _NAME, 'abc', objects.Source.USER, now, now),
            state=objects.State.MOVING,
        )
        self.directory.return_value = {_NAME: 'bcd'}
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            error = self.assertRaises(
                outcomes.Refused,
                removal.Removal(item, self.examiner).apply,
                *(None, self.image, frozenset()),
            )
        self.assertIs(removal.CHANGED, error.reason)
        self.assertEqual([], self.image.moved)

    def test_stale_lock_is_broken_on_request_only(self) -> None:
        self.lock()
        item = self.item()
        self.assertEqual('address', item.stale_lock)
        change = removal.Removal(item, self.examiner)
        error = self.assertRaises(
            outcomes.Refused, change.apply, None, self.image, frozenset()
        )
        self.assertIs(removal.STALE_LOCK, error.reason)
        self.assertEqual([], self.image.moved)

    def test_lock_that_came_after_the_plan_is_refused(self) -> None:
        change = removal.Removal(self.item(), self.examiner)
        self.lock()
        error = self.assertRaises(
            outcomes.Refused, change.apply, None, self.image, frozenset()
        )
        self.assertIs(removal.CHANGED, error.reason)

    def test_lock_of_an_earlier_run_with_the_journal_is_no_obstacle(
        self,
    ) -> None:
        """A plan that was made after the kill shows it as a stale lock."""
        self.lock()
        change = removal.Removal(self.item(), self.examiner)
        change.apply(None, self.image, frozenset({'client.40'}))
        self.assertEqual([(_NAME, 172800)], self.image.moved)

    def snapshot(self) -> removal.Item:
        """Examine the snapshot of a deleted clone of a volume."""
        name = f'volume-{facts.OTHER}{wire.CLONE_SNAPSHOT}'
        self.image.snapshots = [name]
        self.proofs.proof_of_snapshot.return_value = evidence.Proof('a proof')
        return self.examiner.examine(
            *(self.image, findings.CLONE_SNAPSHOT, 'volumes'),
            *(f'{_NAME}@{name}', 'abc'),
        )

    def test_snapshot_is_removed_while_its_image_is_not_locked(self) -> None:
        change = removal.Removal(self.snapshot(), self.examiner)
        change.apply(None, self.image, frozenset())
        self.assertEqual([], self.image.snapshots)

    @ddt.data(
        ('migrating', decisions.BUSY),
        ('retyping', decisions.BUSY),
        ('group', removal.IN_GROUP),
        ('mirrored', removal.MIRRORED),
        ('prepared', removal.MIGRATING),
    )
    @ddt.unpack
    def test_snapshot_stays_while_another_operation_needs_it(
        self, what: str, reason: outcomes.Reason
    ) -> None:
        """What reads all snapshots need not watch the image."""
        if what == 'migrating':
            self.proofs.volume.return_value = facts.volume(migrating=True)
        elif what == 'retyping':
            self.proofs.volume.return_value = facts.volume(status=what)
        elif what == 'group':
            self.image.group = lambda: {'name': 'daily'}
        elif what == 'mirrored':
            self.image.mirror_state = 1
        else:
            self.image.features = lambda: feature_bits.MIGRATING
        error = self.assertRaises(outcomes.Refused, self.snapshot)
        self.assertIs(reason, error.reason)

    def test_client_of_a_volume_loses_no_lock_for_a_snapshot(self) -> None:
        """Its host may have lost the network, and its server still runs."""
        self.lock()
        error = self.assertRaises(outcomes.Refused, self.snapshot)
        self.assertIs(decisions.OWNER_GONE, error.reason)

    def lock(self) -> None:
        """Have a client that is gone hold the lock."""
        self.image.list_lockers = lambda: {
            'tag': 'internal',
            'lockers': [('client.40', 'auto 9', 'address')],
        }

    @ddt.data(
        (wire.RETYPE_COPY + facts.OTHER, None, True, False),
        (wire.RETYPE_COPY + facts.OTHER, 'bcd', True, True),
        (wire.RETYPE_SOURCE + 'abc', None, True, False),
        (wire.RETYPE_SOURCE + 'abc', 'abc', True, False),
        (wire.RETYPE_SOURCE + 'abc', '', True, False),
        (wire.RETYPE_SOURCE + 'abc', 'bcd', True, True),
        (wire.RETYPE_SOURCE + 'abc', None, False, True),
        (wire.RETYPE_SOURCE + 'bcd', 'bcd', True, False),
    )
    @ddt.unpack
    def test_only_image_of_a_volume_is_no_leftover_of_a_retype(
        self, suffix: str, ident: str | None, is_volume: bool, is_left: bool
    ) -> None:
        """The service died between the two renames."""
        self.proofs.has_volume.return_value = is_volume
        words = (self.image, findings.RETYPE_LEFT, 'volumes', _NAME + suffix)
        self.id_of.return_value = None if ident is None else (ident, 1)
        if is_left:
            self.examiner.examine(*words, 'abc')
            return
        error = self.assertRaises(
            outcomes.Refused, self.examiner.examine, *words, 'abc'
        )
        self.assertIs(removal.RETYPED, error.reason)

    @ddt.data(
        ('volumes2', removal.MIGRATED),
        ('', removal.RETYPED),
    )
    @ddt.unpack
    def test_migrated_volume_needs_no_image_in_its_former_pool(
        self, place: str, reason: outcomes.Reason
    ) -> None:
        """The data before the migration must not become its image again."""
        self.proofs.moved_to.return_value = place
        kept_name = f'{_NAME}{wire.RETYPE_SOURCE}abc'
        error = self.assertRaises(
            outcomes.Refused,
            *(self.examiner.examine, self.image, findings.RETYPE_LEFT),
            *('volumes', kept_name, 'abc'),
        )
        self.assertIs(reason, error.reason)
        self.assertIn(place, str(error))

    def test_kind_that_cannot_be_removed_says_what_to_do(self) -> None:
        error = self.assertRaises(
            outcomes.Refused,
            *(self.examiner.examine, self.image, findings.ORPHAN_SNAPSHOT),
            *('volumes', 'image@snapshot', 'abc'),
        )
        self.assertEqual(removal.NOT_CLEANABLE, error.reason.code)
        self.assertIn('rbd snap rm', error.reason.remedy)
