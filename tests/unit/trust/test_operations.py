# SPDX-License-Identifier: Apache-2.0


from typing import Any
from unittest import mock

import ddt

from tests.life import cloud
from tests.trust import operations
from tests.trust import servers
from tests.trust import side
from tests.unit import base

_BY_NAME = {each.name: each for each in operations.OPERATIONS}
_ACCEPTED = cloud.Answer(202, {}, '')
_LOST = cloud.Answer(0, {}, 'lost')


class _Side:
    """A side whose resources are those of a dictionary."""

    name = 'ours'

    def __init__(self, **resources: dict[str, Any]) -> None:
        self.resources = resources

    def show(self, kind: str, ident: str) -> dict[str, Any] | None:
        return self.resources.get(ident)

    def listed(self, kind: str) -> list[dict[str, Any]]:
        return list(self.resources.values())

    def type_name(self, which: str) -> str:
        return which


def _run(name: str, answer: cloud.Answer, **resources: Any) -> operations.Run:
    tenant: Any = _Side(**resources)
    run = operations.Run(
        tenant, _BY_NAME[name], 'wanted', side.Volume('own', {}, 'snap')
    )
    run.answer = answer
    return run


def _volume(status: str, **values: Any) -> dict[str, Any]:
    return {'name': 'own', 'status': status, 'volume_type': 'usual', **values}


@ddt.ddt
class LookTestCase(base.TestCase):
    """What became of an operation, from its answer and the resources."""

    @ddt.data('retyping', 'restoring-backup', 'deleting', 'backing-up')
    def test_a_status_that_changes_again_is_no_outcome(
        self, status: str
    ) -> None:
        self.assertFalse(_run('retype', _ACCEPTED, own=_volume(status)).look())

    @ddt.data(
        ('retype', _ACCEPTED, _volume('available'), 'error'),
        ('retype', _LOST, _volume('available'), 'interrupted'),
        ('retype', _LOST, _volume('available', volume_type='in-place'), 'ok'),
        ('extend', _ACCEPTED, _volume('available', size=2), 'ok'),
        ('restore', _ACCEPTED, _volume('error_restoring'), 'error'),
        ('delete', _ACCEPTED, _volume('error_deleting'), 'error'),
        ('attach', _ACCEPTED, _volume('attaching'), 'ok'),
        ('attach', _LOST, _volume('available'), 'interrupted'),
    )
    @ddt.unpack
    def test_a_change_is_told_from_its_volume(
        self,
        name: str,
        answer: cloud.Answer,
        volume: dict[str, Any],
        outcome: str,
    ) -> None:
        run = _run(name, answer, own=volume)
        self.assertTrue(run.look())
        self.assertEqual(operations.Outcome(outcome), run.outcome)

    def test_a_deletion_succeeded_if_nothing_is_left(self) -> None:
        run = _run('delete', _LOST)
        self.assertTrue(run.look())
        self.assertEqual(operations.Outcome.OK, run.outcome)

    @ddt.data(
        (_ACCEPTED, None, 'error'),
        (_LOST, None, 'interrupted'),
        (_LOST, 'available', 'ok'),
        (_ACCEPTED, 'error', 'error'),
    )
    @ddt.unpack
    def test_a_creation_is_found_by_its_name(
        self, answer: cloud.Answer, status: str | None, outcome: str
    ) -> None:
        made = {'new': {'name': 'wanted', 'status': status}} if status else {}
        run = _run('create', answer, own=_volume('available'), **made)
        self.assertTrue(run.look())
        self.assertEqual(operations.Outcome(outcome), run.outcome)

    @ddt.data(
        ('attach to a server', 'in-use', 'ok'),
        ('attach to a server', 'available', 'error'),
        ('attach to a server', 'reserved', None),
        ('detach from a server', 'available', 'ok'),
        ('detach from a server', 'in-use', 'error'),
        ('live migration', 'in-use', 'ok'),
    )
    @ddt.unpack
    def test_a_volume_of_a_server_shows_what_became_of_it(
        self, name: str, status: str, outcome: str | None
    ) -> None:
        run = _run(name, _ACCEPTED, own=_volume(status))
        tenant: Any = run.side
        tenant.servers = mock.create_autospec(servers.Servers, instance=True)
        tenant.servers.is_busy.return_value = False
        tenant.servers.host.return_value = 'second'
        run.host = 'first'
        self.assertEqual(outcome is not None, run.look())
        if outcome:
            self.assertEqual(operations.Outcome(outcome), run.outcome)

    def test_live_migration_that_moved_nothing_failed(self) -> None:
        run = _run('live migration', _ACCEPTED, own=_volume('in-use'))
        tenant: Any = run.side
        tenant.servers = mock.create_autospec(servers.Servers, instance=True)
        tenant.servers.is_busy.return_value = True
        tenant.servers.host.return_value = run.host = 'first'
        self.assertFalse(run.look())
        tenant.servers.is_busy.return_value = False
        self.assertTrue(run.look())
        self.assertEqual(operations.Outcome.ERROR, run.outcome)

    def test_a_request_without_an_answer_hung(self) -> None:
        answer = cloud.Answer(-1, {}, 'no answer')
        run = _run('extend', answer, own=_volume('available', size=2))
        self.assertTrue(run.look())
        self.assertEqual(operations.Outcome.HUNG, run.outcome)


class CheckTestCase(base.TestCase):
    """What a volume contains afterwards."""

    def check_restore(
        self, answer: cloud.Answer, content: dict[int, int]
    ) -> operations.Run:
        """Check a volume that a restore should fill, and contains this."""
        run = _run('restore', answer, own=_volume('available'))
        own, base_content = {0: 1}, {0: 2}
        run.volume = side.Volume('own', own)
        tenant: Any = run.side
        tenant.base = side.Volume('base', base_content)
        tenant.has_content = lambda _, *allowed, **_written: (
            None if content in allowed else 'differs'
        )
        self.assertTrue(run.look())
        run.check()
        return run

    def test_restore_whose_request_was_lost_may_not_have_begun(self) -> None:
        run = self.check_restore(_LOST, {0: 1})
        self.assertEqual('', run.wrong)
        self.assertIs(operations.Outcome.INTERRUPTED, run.outcome)
        run = self.check_restore(_LOST, {0: 2})
        self.assertEqual('', run.wrong)
        self.assertIs(operations.Outcome.OK, run.outcome)

    def test_restore_that_was_accepted_has_replaced_the_content(self) -> None:
        self.assertEqual(
            'differs', self.check_restore(_ACCEPTED, {0: 1}).wrong
        )
        self.assertEqual('differs', self.check_restore(_LOST, {0: 3}).wrong)
