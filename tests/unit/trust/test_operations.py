# SPDX-License-Identifier: Apache-2.0


from typing import Any

import ddt

from tests.life import cloud
from tests.trust import operations
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

    def test_a_request_without_an_answer_hung(self) -> None:
        answer = cloud.Answer(-1, {}, 'no answer')
        run = _run('extend', answer, own=_volume('available', size=2))
        self.assertTrue(run.look())
        self.assertEqual(operations.Outcome.HUNG, run.outcome)
