# SPDX-License-Identifier: Apache-2.0

import collections
from collections.abc import Mapping
import pathlib
import threading

import ddt
import fixtures

from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.fleet import retypes
from tests.unit import base
from tests.unit.rbd_volume_tools.fleet import fake_cinder

_Status = outcomes.Status
_INTERVAL = 'rbd_volume_tools.fleet.retypes.INTERVAL'
_WANTED = retypes.Wanted('old', 'new', 'id-of-new')


@ddt.ddt
class RetypesTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cinder = fake_cinder.Cinder(*'abcde')
        self.stop = threading.Event()
        self.said: list[str] = []
        self.shown: list[tuple[int, int, Mapping[str, int | None]]] = []
        self.written: journal.Journal | None = None
        self.time = 0.0
        self.health = collections.deque([True])
        self.useFixture(fixtures.MonkeyPatch(_INTERVAL, 0.0001))
        folder = self.useFixture(fixtures.TempDir()).path
        self.path = pathlib.Path(folder) / 'journal'

    def now(self) -> float:
        self.time += 0.01
        return self.time

    def is_healthy(self) -> bool:
        if len(self.health) > 1:
            return self.health.popleft()
        return self.health[0]

    def run_all(
        self, at_once: int = 2, patience: float = 1000, per_minute: int = 0
    ) -> dict[str, outcomes.Outcome]:
        """Retype all volumes and return the outcomes."""
        kept = pace.Pace(self.stop, per_minute or None, now=self.now)
        work = retypes.Retypes(
            self.cinder,
            _WANTED,
            self.written,
            kept,
            self.stop,
            self.said.append,
            self.is_healthy,
            at_once,
            patience,
            self.now,
        )

        def progress(
            done: int, total: int, running: Mapping[str, int | None]
        ) -> None:
            self.shown.append((done, total, running))

        volumes = list(self.cinder.volumes.values())
        return {each.ident: each for each in work.run(volumes, progress)}

    def statuses(self, **options: int) -> dict[str, _Status]:
        return {
            ident: each.status
            for ident, each in self.run_all(**options).items()
        }

    def test_a_few_at_once_with_progress(self) -> None:
        ended = self.run_all()
        self.assertEqual(
            dict.fromkeys('abcde', _Status.DONE),
            {ident: each.status for ident, each in ended.items()},
        )
        self.assertEqual('retyped to new', ended['a'].detail)
        self.assertGreater(ended['a'].seconds, 0)
        self.assertEqual(2, self.cinder.most)
        self.assertEqual((5, 5, {}), self.shown[-1])
        self.assertIn((0, 5, {'a': 50, 'b': 50}), self.shown)

    def test_rate_spaces_requests(self) -> None:
        """Sixty a minute: the fifth begins after four seconds."""
        self.run_all(at_once=5, per_minute=60)
        self.assertGreater(self.time, 4)

    def test_what_is_not_begun(self) -> None:
        self.cinder.change('a', volume_type='new')
        self.cinder.change('b', volume_type='other')
        self.cinder.change('c', status='attaching')
        self.cinder.refused['d'] = 'detach the volume'
        ended = self.run_all()
        self.assertEqual(['e'], self.cinder.requested)
        self.assertEqual(_Status.UNCHANGED, ended['a'].status)
        codes = {ident: ended[ident].code for ident in 'bcd'}
        self.assertEqual(
            {'b': 'other-type', 'c': 'busy', 'd': 'refused-by-cinder'}, codes
        )
        self.assertIn('detach the volume', ended['d'].detail)

    def test_type_does_not_change(self) -> None:
        self.cinder.failed = {'a': 'the RBD image has clones', 'b': None}
        ended = self.run_all()
        self.assertEqual('not-converted', ended['a'].code)
        self.assertIn('clones', ended['a'].detail)
        self.assertEqual(_Status.FAILED, ended['b'].status)
        self.assertIn('cinder-scheduler', ended['b'].remedy)

    def test_deleted_volume_is_unchanged(self) -> None:
        volumes = self.cinder.volumes
        self.health = collections.deque([True])
        real = self.cinder.show

        def show(ident: str) -> object:
            volume = real(ident)
            if ident == 'a' and volume and volume.status == 'retyping':
                del volumes['a']
                self.cinder._left.pop('a', None)
            return volumes.get(ident)

        self.cinder.show = show  # type: ignore[method-assign,assignment]
        ended = self.run_all()
        self.assertEqual(_Status.UNCHANGED, ended['a'].status)
        self.assertIn('deleted', ended['a'].detail)

    def test_volume_that_is_being_retyped_already(self) -> None:
        """It is waited for; the others wait, if it fills the places."""
        self.cinder.begin('e')
        self.assertEqual(
            dict.fromkeys('abcde', _Status.DONE), self.statuses(at_once=1)
        )
        self.assertEqual('eabcd', ''.join(self.cinder.requested))
        self.assertEqual(1, self.cinder.most)

    def test_other_retype_ends_without_a_change(self) -> None:
        self.cinder.failed['e'] = 'reason'
        self.cinder.begin('e')
        self.assertEqual(_Status.REFUSED, self.statuses()['e'])
        self.assertEqual(2, self.cinder.requested.count('e'))

    def test_migrating_volume_is_not_requested(self) -> None:
        self.cinder.change('a', migrating=True)
        ended = self.run_all(patience=0.05)
        self.assertEqual(_Status.FAILED, ended['a'].status)
        self.assertIn('no progress', ended['a'].detail)
        self.assertNotIn('a', self.cinder.requested)

    def test_stopped_run_reports_accepted_retypes(self) -> None:
        """What Cinder has accepted continues without the command."""
        real = self.cinder.retype

        def retype(ident: str, wanted: retypes.Wanted) -> str:
            self.stop.set()
            return real(ident, wanted)

        self.cinder.retype = retype  # type: ignore[method-assign]
        self.assertEqual({'a': _Status.RUNNING}, self.statuses())

    def test_unhealthy_cluster_pauses_requests(self) -> None:
        """Nothing begins; what was begun is still looked at."""
        self.health = collections.deque([True, *[False] * 9, True])
        self.assertEqual(dict.fromkeys('abcde', _Status.DONE), self.statuses())
        self.assertIn((1, 5, {}), self.shown)

    def test_no_answer_for_a_while(self) -> None:
        self.cinder.silent = 3
        self.assertEqual(dict.fromkeys('abcde', _Status.DONE), self.statuses())
        self.assertEqual(2, len(self.said), str(self.said))
        self.assertIn('HTTP 503', self.said[0])

    def test_no_answer_to_an_accepted_request(self) -> None:
        real = self.cinder.retype

        def retype(ident: str, wanted: retypes.Wanted) -> str:
            real(ident, wanted)
            self.cinder.retype = real  # type: ignore[method-assign]
            raise retypes.Unavailable('timeout')

        self.cinder.retype = retype  # type: ignore[method-assign]
        self.assertEqual(dict.fromkeys('abcde', _Status.DONE), self.statuses())
        self.assertEqual('abcde', ''.join(self.cinder.requested))

    def test_no_answer_for_too_long(self) -> None:
        self.cinder.silent = 10**9
        self.assertEqual({}, self.run_all(patience=0.05))
        self.assertTrue(self.stop.is_set())
        self.assertIn('too long', self.said[-1])

    def test_journal_of_a_killed_run(self) -> None:
        """It had begun a and b: a has ended since, b has failed."""
        with journal.Journal(self.path, 'retype', '') as written:
            written.begin('', '', 'a')
            written.begin('', '', 'b')
        self.cinder.change('a', volume_type='new')
        self.cinder.failed['b'] = None
        self.cinder.begin('b')
        with journal.Journal(self.path, 'retype', '') as self.written:
            ended = self.run_all()
        self.assertEqual(_Status.DONE, ended['a'].status)
        self.assertIn('earlier run', ended['a'].detail)
        self.assertEqual(_Status.FAILED, ended['b'].status)
        with journal.Journal(self.path, 'retype', '') as again:
            done = {each: again.done('', '', each) for each in 'abcde'}
        self.assertEqual({**dict.fromkeys('acde', True), 'b': False}, done)
