# SPDX-License-Identifier: Apache-2.0

import threading
import types
from typing import Any

import fixtures

from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import retypes
from tests.unit import base
from tests.unit.rbd_volume_tools.fleet import fake_cinder

_INTERVAL = 'rbd_volume_tools.fleet.retypes.INTERVAL'
_WANTED = retypes.Wanted('old', 'new', 'id-of-new')


class RetypeTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cinder = fake_cinder.Cinder('a')
        self.stop = threading.Event()
        self.said: list[str] = []
        self.work: Any = types.SimpleNamespace(
            stop=self.stop,
            say=self.said.append,
            written=types.SimpleNamespace(),
            percents={},
        )
        self.useFixture(fixtures.MonkeyPatch(_INTERVAL, 0.0001))

    def apply(self, patience: float = 1000, was_begun: bool = False) -> str:
        """Retype the volume."""
        self.work.written.begun = frozenset('a' if was_begun else '')
        service: Any = self.cinder
        return retypes.Retype(
            *('a', service, _WANTED, self.work, patience)
        ).make()

    def refusal(self) -> str:
        """Return the code of the reason against the retype."""
        error = self.assertRaises(outcomes.Refused, self.apply)
        return error.reason.code

    def test_retype_is_requested_and_waited_for(self) -> None:
        self.assertEqual('retyped to new', self.apply())
        self.assertEqual(['a'], self.cinder.requested)
        self.assertEqual({'a': 50}, self.work.percents)

    def test_what_is_not_begun(self) -> None:
        self.cinder.change('a', volume_type='new')
        self.assertRaises(outcomes.Unneeded, self.apply)
        for fields, code in (
            ({'volume_type': 'other'}, 'other-type'),
            ({'volume_type': ''}, 'other-type'),
            ({'volume_type': 'old', 'status': 'attaching'}, 'busy'),
        ):
            self.cinder.change('a', **fields)
            self.assertEqual(code, self.refusal())
        self.cinder.change('a', status='available')
        self.cinder.refused['a'] = 'detach the volume'
        self.assertEqual('refused-by-cinder', self.refusal())
        self.assertEqual([], self.cinder.requested)

    def test_type_does_not_change(self) -> None:
        self.cinder.failed['a'] = 'the RBD image has clones'
        self.assertEqual('not-converted', self.refusal())
        self.cinder.failed['a'] = None
        error = self.assertRaises(outcomes.NotVerified, self.apply)
        self.assertIn('cinder-scheduler', error.remedy)

    def test_deleted_volume_is_unchanged(self) -> None:
        volumes, real = self.cinder.volumes, self.cinder.retype

        def retype(ident: str, target: str, policy: str) -> str:
            real(ident, target, policy)
            del volumes['a']
            self.cinder._left.clear()
            return ''

        self.cinder.retype = retype  # type: ignore[method-assign]
        error = self.assertRaises(outcomes.Unneeded, self.apply)
        self.assertIn('deleted', str(error))

    def test_volume_that_is_being_retyped_already_is_waited_for(self) -> None:
        self.cinder.failed['a'] = 'reason'
        self.cinder.begin('a')
        self.assertEqual('not-converted', self.refusal())
        self.assertEqual(2, self.cinder.requested.count('a'))

    def test_migrating_volume_is_not_requested(self) -> None:
        self.cinder.change('a', migrating=True)
        error = self.assertRaises(outcomes.NotVerified, self.apply, 0.05)
        self.assertIn('no progress', str(error))
        self.assertEqual([], self.cinder.requested)

    def test_stopped_run_leaves_an_accepted_retype_to_cinder(self) -> None:
        real = self.cinder.retype

        def retype(ident: str, target: str, policy: str) -> str:
            self.stop.set()
            return real(ident, target, policy)

        self.cinder.retype = retype  # type: ignore[method-assign]
        self.assertRaises(outcomes.Continues, self.apply)

    def test_no_answer_for_a_while(self) -> None:
        self.cinder.silent = 3
        self.assertEqual('retyped to new', self.apply())
        self.assertEqual(1, len(self.said), str(self.said))
        self.assertIn('HTTP 503', self.said[0])

    def test_no_answer_to_an_accepted_request(self) -> None:
        real = self.cinder.retype

        def retype(ident: str, target: str, policy: str) -> str:
            real(ident, target, policy)
            raise outcomes.NotAnswered('timeout')

        self.cinder.retype = retype  # type: ignore[method-assign]
        self.assertEqual('retyped to new', self.apply())
        self.assertEqual(['a'], self.cinder.requested)

    def test_no_answer_for_too_long(self) -> None:
        self.cinder.silent = 10**9
        self.assertRaises(outcomes.NotAnswered, self.apply, 0.05)
        self.assertTrue(self.stop.is_set())
        self.assertIn('too long', self.said[-1])

    def test_retype_of_a_killed_run_has_its_result(self) -> None:
        self.cinder.change('a', volume_type='new')
        self.assertIn('earlier run', self.apply(was_begun=True))
        self.cinder.change('a', volume_type='old')
        self.cinder.failed['a'] = None
        self.cinder.begin('a')
        self.assertRaises(outcomes.NotVerified, self.apply, was_begun=True)
        # The request may have been lost with the run.
        del self.cinder.failed['a']
        self.assertEqual('retyped to new', self.apply(was_begun=True))
