# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import datetime
import errno
import os
import pathlib
import signal
import threading
from typing import Any
from unittest import mock

import fixtures
import requests

from rbd_volume_tools.audit import changes as run
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.command_line import plan_file
from rbd_volume_tools.fleet import decisions
from tests.unit import base
from tests.unit.rbd_volume_tools.fleet import stubs

_Status = outcomes.Status


# No journal has an entry since then.
_LATER = datetime.datetime(9999, 1, 1, tzinfo=datetime.timezone.utc)
_NO_TEXT = UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'no text')


class _Cluster(scan.Cluster):
    def __init__(self) -> None:
        super().__init__(stubs.Image, stubs.Image, '', '')
        self.health = b'{"status": "HEALTH_OK"}'

    @contextlib.contextmanager
    def connected(self, pool: str) -> Iterator[tuple[Any, Any]]:
        yield self, None

    def mon_command(self, *args: Any) -> tuple[int, bytes, str]:
        return 0, self.health, ''

    def get_instance_id(self) -> int:
        return 41


class RunTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.path = pathlib.Path(folder) / 'journal'
        self.stop = threading.Event()
        self.said: list[str] = []
        self.meanwhile: Callable[[], Any] = lambda: None
        self.cluster = _Cluster()
        patch = mock.patch.object(
            objects,
            'is_gone',
            autospec=True,
            side_effect=lambda rados, ioctx, pool, name, ident: name == 'e',
        )
        patch.start()
        self.addCleanup(patch.stop)

    def run_changes(
        self,
        *names: str,
        planned: datetime.datetime = _LATER,
        at_once: int = 1,
        limit: int | None = None,
        **errors: Exception,
    ) -> list[outcomes.Outcome]:
        """Make changes; those of images with an error raise it."""
        self.progress: list[tuple[int, int, Any]] = []
        self.applied: list[str] = []

        def make(
            item: outcomes.Outcome, ioctx: Any, ours: frozenset[str]
        ) -> str:
            self.applied.append(item.image)
            self.meanwhile()
            if item.image in errors:
                raise errors[item.image]
            return 'done it'

        with journal.Journal(self.path, 'test', 'fsid') as written:
            work = run.Run(
                plan_file.Header(
                    *('test', 'fsid', 'url', ''), planned.isoformat()
                ),
                [
                    outcomes.Outcome(_Status.PLANNED, 'volumes', name, name)
                    for name in names
                ],
                *(None, self.cluster, written),
                *(pace.Pace(self.stop), self.stop, self.said.append),
                at_once=at_once,
            )
            return list(
                work.made(
                    make,
                    work.chosen(limit),
                    lambda *where: self.progress.append(where),
                )
            )

    def test_each_change_has_its_outcome(self) -> None:
        refused = outcomes.Refused(decisions.MULTIATTACH)
        ended = self.run_changes(
            *'abcdefghijk',
            b=refused,
            c=stubs.Error('made to fail'),
            d=outcomes.NotVerified('flags'),
            e=stubs.ImageNotFound('gone'),
            f=requests.HTTPError('503'),
            g=stubs.ImageNotFound('no such snapshot'),
            h=_NO_TEXT,
            i=outcomes.Unneeded('as it was'),
            j=outcomes.Continues('goes on'),
            # Of the process that reads.
            k=reading.NotRead('SIGFPE'),
        )
        ended += self.run_changes(
            'e', e=reading.NotRead('no image', errno.ENOENT)
        )
        self.assertEqual(
            [
                (_Status.DONE, 'done it'),
                (_Status.REFUSED, decisions.MULTIATTACH.text),
                (_Status.FAILED, 'made to fail'),
                (_Status.FAILED, 'flags'),
                (_Status.UNCHANGED, 'deleted since the scan'),
                (_Status.FAILED, '503'),
                (_Status.FAILED, 'no such snapshot'),
                (_Status.FAILED, str(_NO_TEXT)),
                (_Status.UNCHANGED, 'as it was'),
                (_Status.RUNNING, 'goes on'),
                (_Status.FAILED, 'SIGFPE'),
                (_Status.UNCHANGED, 'deleted since the scan'),
            ],
            [(each.status, each.detail) for each in ended],
        )
        self.assertEqual((1, 1, {}), self.progress[-1])

    def test_user_who_may_not_change_the_image_is_told_what_is_needed(
        self,
    ) -> None:
        class Denied(stubs.Error):
            errno = errno.EPERM

        (outcome,) = self.run_changes('a', a=Denied('denied'))
        self.assertIn('profile rbd', outcome.remedy)

    def test_change_that_was_undone_is_not_repeated(self) -> None:
        """An operator has restored the image from the trash."""
        before = datetime.datetime.now(datetime.timezone.utc)
        self.run_changes('a')
        results = self.run_changes('a', 'b', planned=before, limit=1)
        self.assertEqual(
            [_Status.EARLIER, _Status.DONE], [each.status for each in results]
        )
        self.assertEqual(['b'], self.applied)
        # A later plan has it again.
        later = datetime.datetime.now(datetime.timezone.utc)
        self.run_changes('a', planned=later)
        self.assertEqual(['a'], self.applied)

    def test_interrupted_change_is_the_first_of_the_next_run(self) -> None:
        self.run_changes('b', b=stubs.Error('made to fail'))
        self.run_changes('a', 'b', limit=1)
        self.assertEqual(['b'], self.applied)

    def test_fault_of_the_program(self) -> None:
        """It ends the run, and the journal shows where."""
        self.assertRaises(KeyError, self.run_changes, 'a', a=KeyError('x'))
        with journal.Journal(self.path, 'test', 'fsid') as written:
            self.assertFalse(written.done('volumes', 'a', 'a'))
            self.assertEqual({'client.41'}, written.clients)

    def test_services_make_several_changes_at_once(self) -> None:
        barrier = threading.Barrier(2, timeout=60)
        self.meanwhile = barrier.wait
        self.assertEqual(4, len(self.run_changes(*'abcd', at_once=2)))

    def test_stopped_run_changes_nothing(self) -> None:
        self.stop.set()
        self.assertEqual([], self.run_changes('a'))

    def test_stopped_while_unhealthy(self) -> None:
        self.cluster.health = b'{"status": "HEALTH_ERR"}'
        timer = threading.Timer(0.05, self.stop.set)
        timer.start()
        self.addCleanup(timer.join)
        self.assertEqual([], self.run_changes('a'))
        self.assertIn('Paused', self.said[0])

    def test_first_signal_stops_and_second_ends(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        with run.stoppable(self.stop, self.said.append):
            os.kill(os.getpid(), signal.SIGINT)
            self.assertTrue(self.stop.wait(60))
            # The second one ends the process.
            self.assertIs(signal.SIG_DFL, signal.getsignal(signal.SIGINT))
        self.assertIs(before, signal.getsignal(signal.SIGINT))
        self.assertIn('after the current image', self.said[0])
