# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
import json
import types
from typing import Any
import uuid

import hypothesis

from rbd_volume_tools.clean import commands as clean
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs
from tests.unit.rbd_volume_tools.fleet import commands
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_ORPHAN = f'volume-{facts.OTHER}'


class ApprovalsTest(untrusted.TestCase):
    def test_approvals_are_pools_with_ids(self) -> None:
        self.assertEqual(
            {'volumes/1a', 'images/2b'},
            clean.approvals('volumes/1a # checked\n\n# nothing\nimages/2b'),
        )
        for text in ('1a', 'volumes/', 'volumes/volume-1', 'volumes/*'):
            error = self.assertRaises(ValueError, clean.approvals, text)
            self.assertIn('Line 1', str(error))

    @hypothesis.given(untrusted.TEXTS)
    def test_any_approvals_are_ids_or_refused(self, text: str) -> None:
        try:
            approved = clean.approvals(text)
        except ValueError as error:
            self.assertIn('of the approvals', str(error))
            return
        self.assertTrue(all(each.count('/') == 1 for each in approved))


class CleanTest(commands.CommandTestCase):
    noun = 'clean'

    def setUp(self) -> None:
        super().setUp()
        self.pool.images.append(_ORPHAN)
        self.removed = self.replace(
            removal.Removal, 'make', return_value='moved'
        )
        self.examined = self.replace(removal, 'examine', side_effect=self.item)
        self.pool.mon_command = lambda *args: (
            (0, b'{"status": "HEALTH_OK"}', '')
        )
        self.pool.get_instance_id = lambda: 41  # type: ignore[attr-defined]
        self.url, self.region = 'https://keystone', 'one'
        config = types.SimpleNamespace(
            get_auth_args=lambda: {'auth_url': self.url},
            get_region_name=lambda: self.region,
        )
        self.date = datetime.datetime.now(datetime.timezone.utc)
        self.answer = 200
        storage = types.SimpleNamespace(get=self.answered)
        self.cloud.return_value = types.SimpleNamespace(
            config=config,
            block_storage=storage,
            identity=self.cloud.return_value.identity,
        )

    def answered(self, path: str) -> Any:
        """Return the time at which each service of Cinder has reported."""
        earlier = self.date - datetime.timedelta(days=1)
        times = [
            None,
            *(
                f'{each:%Y-%m-%dT%H:%M:%S.000000}'
                for each in (self.date, earlier)
            ),
        ]
        body = {'services': [{'updated_at': each} for each in times]}
        return fake_cloud.response(self.answer, body)

    def item(self, *args: Any) -> outcomes.Outcome:
        _, _, kind, pool, image, ident = args
        return outcomes.Outcome(
            *(outcomes.Status.PLANNED, pool, image, ident, 'a proof'),
            size=2**30,
            seen={'kind': kind.code, 'proof': 'a proof'},
        )

    def plan(self, *words: str) -> int:
        return self.run_command(
            *('clean', 'plan', '-o', str(self.path), '--pool', 'volumes'),
            *words,
        )

    def test_plan_is_written_and_nothing_is_removed(self) -> None:
        self.assertEqual(0, self.plan('--kind', 'orphan-volume'))
        (row,) = self.rows()
        self.assertEqual(('planned', _ORPHAN), (row['Status'], row['Image']))
        self.assertIn('a proof', row['Detail'])
        self.removed.assert_not_called()
        header, item = map(json.loads, self.path.read_text().splitlines())
        self.assertEqual(
            ('fsid', self.url), (header['cluster'], header['cloud'])
        )
        self.assertEqual(_ORPHAN, item['image'])
        self.assertIn('1 items, 1 GiB', self.err.getvalue())

    def test_unknown_owner_is_listed_and_is_no_failure(self) -> None:
        self.examined.side_effect = outcomes.Refused(leftovers.UNKNOWN)
        self.assertEqual(0, self.plan())
        (row,) = self.rows()
        self.assertEqual('owner unknown', row['Status'])
        self.assertEqual(1, len(self.path.read_text().splitlines()))

    def test_plan_without_what_the_user_may_not_read_is_incomplete(
        self,
    ) -> None:
        self.pool.errors[_ORPHAN] = stubs.PermissionError('opening')
        self.assertEqual(2, self.plan('--kind', 'orphan-volume'))
        self.assertIn(f'Image volumes/{_ORPHAN} was not', self.err.getvalue())
        self.path.unlink()
        # What was refused as well does not hide it.
        other = f'volume-{uuid.uuid4()}'
        self.pool.images.append(other)
        self.examined.side_effect = outcomes.Refused(leftovers.IN_USE)
        self.assertEqual(2, self.plan('--kind', 'orphan-volume'))
        self.assertIn('1 refused', self.err.getvalue())
        self.path.unlink()
        self.pool.forbidden = stubs.PermissionError('listing')
        self.assertEqual(2, self.plan('--kind', 'orphan-volume'))
        self.assertIn('Pool volumes was not', self.err.getvalue())

    def test_unknown_project_is_refused(self) -> None:
        self.assertEqual(3, self.plan('--project', 'name'))
        self.assertIn('--project name: ', self.err.getvalue())
        self.assertFalse(self.path.exists())
        self.assertEqual(0, self.plan('--project', 'other'))

    def test_plan_that_is_written_meanwhile_is_not_overwritten(self) -> None:
        """By another clean plan; a person may have edited it since."""

        def examine(*args: Any) -> outcomes.Outcome:
            self.path.write_text('of a person')
            return self.item(*args)

        self.examined.side_effect = examine
        self.assertEqual(3, self.plan())
        self.assertIn('exists', self.err.getvalue())
        self.assertEqual('of a person', self.path.read_text())
        # A file that exists is refused before the scan.
        self.examined.reset_mock()
        self.assertEqual(3, self.plan())
        self.examined.assert_not_called()

    def test_plan_is_applied_with_its_own_limits(self) -> None:
        self.plan('--delay', '5', '--older-than', '7')
        self.assertEqual(0, self.apply())
        (row,) = self.rows()
        self.assertEqual(('done', 'moved'), (row['Status'], row['Detail']))
        (change, *_) = self.removed.call_args.args
        sources = change.sources
        self.assertEqual(5 * 3600, sources.delay.total_seconds())
        self.assertEqual(7 * 3600, sources.older_than.total_seconds())
        self.assertFalse(sources.breaks_locks)
        self.journal.unlink()
        self.apply('--break-stale-locks')
        (change, *_) = self.removed.call_args.args
        self.assertTrue(change.sources.breaks_locks)

    def test_approval_of_a_plan_counts_when_it_is_applied(self) -> None:
        self.plan()
        self.apply()
        (change, *_) = self.removed.call_args.args
        self.assertEqual(frozenset(), change.sources.approved)
        self.examined.side_effect = lambda *args: dataclasses.replace(
            self.item(*args), seen={'proof': leftovers.APPROVED}
        )
        self.path.unlink()
        self.journal.unlink()
        self.plan()
        self.apply()
        (change, *_) = self.removed.call_args.args
        self.assertEqual(
            {f'volumes/{change.item.ident}'}, change.sources.approved
        )

    def test_database_is_checked_before_the_scan(self) -> None:
        path = self.path.with_name('cinder.conf')
        path.write_text('[database]\nconnection secret\n')
        self.assertEqual(3, self.plan('--cinder-config', str(path)))
        self.assertIn(f'Cannot read {path}: line 2', self.err.getvalue())
        self.assertNotIn('secret', self.err.getvalue())
        self.examined.assert_not_called()

    def test_database_that_may_be_that_of_another_cloud_is_refused(
        self,
    ) -> None:
        for name, rows in (('volumes', []), ('image', None)):
            self.replace(databases.Databases, name, return_value=rows)
        path = self.path.with_name('service.conf')
        path.write_text('[database]\nconnection = sqlite://\n')
        for known, message in (
            (facts.known(), 'The cloud has no'),
            # A volume and an image that the databases do not have.
            (
                facts.known(facts.volume(), images=frozenset({facts.OTHER})),
                'does not have',
            ),
        ):
            self.known = known
            for service, what in (('cinder', 'volume'), ('glance', 'image')):
                self.err.truncate(0)
                words = (f'--{service}-config', str(path))
                self.assertEqual(3, self.plan(*words))
                self.assertIn(f'{message} {what}', self.err.getvalue())
        self.assertFalse(self.path.exists())

    def test_limit_of_apply_is_kept(self) -> None:
        self.plan()
        for number in ('0', '-1'):
            self.assertEqual(3, self.apply('--limit', number))
            self.assertEqual(3, self.plan('--limit', number))
            self.assertEqual(3, self.plan('--older-than', f'{number}e300'))
        self.assertEqual(0, self.apply('--limit', '1'))
        self.removed.assert_called_once()

    def test_wrong_clock_is_refused(self) -> None:
        for minutes in (-6, 6):
            self.date += datetime.timedelta(minutes=minutes)
            self.assertEqual(3, self.plan())
            self.assertIn('The clock of this host', self.err.getvalue())
            self.date -= datetime.timedelta(minutes=minutes)
        self.plan()
        self.date += datetime.timedelta(minutes=6)
        self.assertEqual(3, self.apply())
        self.removed.assert_not_called()

    def test_user_who_is_no_administrator_is_told_so(self) -> None:
        self.answer = 403
        self.assertEqual(3, self.plan())
        self.assertIn('is not an administrator', self.err.getvalue())
        self.assertFalse(self.path.exists())

    def test_file_that_cannot_be_read_is_named(self) -> None:
        none = str(self.path.with_name('none'))
        self.assertEqual(3, self.plan('--approve', none))
        self.assertEqual(3, self.apply())
        self.path.write_text('no plan')
        self.assertEqual(3, self.apply())
        for text in (
            f'Cannot read {none}: No such file',
            f'Cannot read {self.path}: No such file',
            'Give the file that clean plan has written.',
        ):
            self.assertIn(text, self.err.getvalue())

    def test_short_times_are_refused(self) -> None:
        for words in (
            ('--delay', '0'),
            ('--delay', '90000'),
            ('--older-than', '0.5'),
        ):
            self.assertEqual(3, self.plan(*words))
        self.assertEqual(3, self.plan('--kind', 'orphan-snapshot'))

    def test_id_of_a_cloud_is_a_uuid(self) -> None:
        self.assertEqual(0, self.run_plain('cloud-id'))
        uuid.UUID(self.out.getvalue().strip())
