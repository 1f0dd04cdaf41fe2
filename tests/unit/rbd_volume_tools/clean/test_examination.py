# SPDX-License-Identifier: Apache-2.0

import datetime
from unittest import mock

import ddt

from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions
from tests import feature_bits
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.clean import examiner_case

_NAME, _HOUR = examiner_case.NAME, examiner_case.HOUR


@ddt.ddt
class ExaminationTest(examiner_case.ExaminerTestCase):
    def test_last_access_counts_for_the_age(self) -> None:
        self.image.accessed = self.image.created + 1.5 * _HOUR
        error = self.assertRaises(outcomes.Refused, self.item)
        self.assertIs(leftovers.TOO_YOUNG, error.reason)

    def test_damaged_image_is_refused_before_this_process_opens_it(
        self,
    ) -> None:
        self.image.fault = 'librbd ends its process: SIGFPE'
        for examine in (self.item, self.snapshot):
            with mock.patch.object(
                self.image, 'Image', autospec=True
            ) as opened:
                error = self.assertRaises(outcomes.Refused, examine)
            self.assertIs(leftovers.DAMAGED, error.reason)
            opened.assert_not_called()

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
        self.assertIs(leftovers.TOO_YOUNG, error.reason)

    def test_deletion_of_the_owner_counts_for_the_age(self) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        self.proofs.proof.return_value = evidence.Proof('a proof', now)
        error = self.assertRaises(outcomes.Refused, self.item)
        self.assertIs(leftovers.TOO_YOUNG, error.reason)

    def test_mirrored_image_is_refused(self) -> None:
        self.image.mirror_state = 1
        error = self.assertRaises(outcomes.Refused, self.item)
        self.assertIs(leftovers.MIRRORED, error.reason)

    @ddt.data(
        (findings.IN_TRASH, objects.TrashState.REMOVING, True),
        (findings.IN_TRASH, objects.TrashState.SETTLED, True),
        (findings.IN_TRASH, objects.TrashState.MOVING, False),
        (findings.IN_TRASH, objects.TrashState.RESTORING, False),
        (findings.HALF_TRASHED, objects.TrashState.MOVING, True),
        (findings.HALF_TRASHED, objects.TrashState.REMOVING, False),
        (findings.HALF_TRASHED, objects.TrashState.RESTORING, False),
    )
    @ddt.unpack
    def test_interrupted_operation_of_the_trash_is_completed_by_its_own_kind(
        self, kind: findings.Kind, state: objects.TrashState, is_removed: bool
    ) -> None:
        long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        self.in_trash.return_value = objects.Trashed(
            *('volumes', _NAME, 'abc', objects.TrashSource.USER),
            *(long_ago, long_ago, state),
        )
        examine = (
            self.examiner.examine,
            self.image,
            kind,
            'volumes',
            _NAME,
        )
        with mock.patch.object(
            objects, 'has_header', autospec=True, return_value=True
        ):
            if is_removed:
                examine[0](*examine[1:], 'abc')
                return
            error = self.assertRaises(outcomes.Refused, *examine, 'abc')
        self.assertIs(leftovers.DEFERRED, error.reason)

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
                outcomes.Refused,
                *examine,
                'volumes',
                _NAME,
                'abc',
            )
        self.assertIs(leftovers.UNLISTED, error.reason)

    @ddt.data(
        ('migrating', decisions.BUSY),
        ('retyping', decisions.BUSY),
        ('group', leftovers.IN_GROUP),
        ('mirrored', leftovers.MIRRORED),
        ('prepared', leftovers.MIGRATING),
        # Another service answers 404, or the user may not see the volume.
        ('unseen', leftovers.CHANGED),
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
        elif what == 'unseen':
            self.proofs.volume.return_value = None
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

    def test_kind_that_cannot_be_removed_says_what_to_do(self) -> None:
        error = self.assertRaises(
            outcomes.Refused,
            *(self.examiner.examine, self.image, findings.ORPHAN_SNAPSHOT),
            *('volumes', 'image@snapshot', 'abc'),
        )
        self.assertEqual(leftovers.NOT_CLEANABLE, error.reason.code)
        self.assertIn('rbd snap rm', error.reason.remedy)
