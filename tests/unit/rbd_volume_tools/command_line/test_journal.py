# SPDX-License-Identifier: Apache-2.0

import contextlib
import datetime
import errno
import json
import os
import pathlib
from unittest import mock

import ddt
import fixtures
import hypothesis
from hypothesis import strategies

from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from tests.unit import untrusted

_KEY = ('volumes', 'image', 'id')


def _outcome(status: outcomes.Status) -> outcomes.Outcome:
    return outcomes.Outcome(status, *_KEY)


@ddt.ddt
class JournalTest(untrusted.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.path = pathlib.Path(folder) / 'journal'

    def open(
        self, command: str = 'object-map enable', cluster: str = 'fsid'
    ) -> journal.Journal:
        return journal.Journal(self.path, command, cluster)

    def write(self, *statuses: outcomes.Status) -> None:
        with self.open() as written:
            written.begin(*_KEY, 'client.1')
            for each in statuses:
                written.end(_outcome(each))

    def test_new_journal_is_private(self) -> None:
        with self.open() as written:
            self.assertFalse(written.resumed)
            self.assertFalse(written.done(*_KEY))
        (header,) = self.path.read_text().splitlines()
        self.assertEqual('object-map enable', json.loads(header)['command'])
        self.assertEqual(0o600, self.path.stat().st_mode & 0o777)

    @ddt.data(
        ((outcomes.Status.DONE,), True),
        ((outcomes.Status.UNCHANGED,), True),
        ((outcomes.Status.FAILED,), False),
        ((outcomes.Status.FAILED, outcomes.Status.DONE), True),
        ((outcomes.Status.REFUSED,), False),
        ((), False),
    )
    @ddt.unpack
    def test_resumed_journal_knows_what_is_done(
        self, statuses: tuple[outcomes.Status, ...], done: bool
    ) -> None:
        self.write(*statuses)
        with self.open() as written:
            self.assertTrue(written.resumed)
            self.assertIs(done, written.done(*_KEY))
            self.assertFalse(written.done('volumes', 'image', 'another id'))
            self.assertEqual({'client.1'}, written.clients)
            self.assertEqual({_KEY[2]}, written.begun)

    def test_line_that_was_cut(self) -> None:
        """A crash of the host may leave a part of the last line."""
        self.write(outcomes.Status.DONE)
        whole = self.path.read_bytes()
        for end in range(len(whole)):
            self.path.write_bytes(whole[:end])
            with self.open() as written:
                written.end(_outcome(outcomes.Status.DONE))
            with self.open() as written:
                self.assertTrue(written.done(*_KEY), end)

    @ddt.data(
        b'hosts: all\n',
        b'[1]\n',
        b'{"a": 1}\n',
        b'hosts',
        b'1\n2\n',
        # Without a line break at its end.
        b'{"version": 1, "name": "dashboard"}',
        b'{"version": 1, "command": "object-map enable", "x": 1}',
        b'{"a": 1}\n{"b": 2}',
        b'{"status": "done"}\n',
    )
    def test_other_file_is_refused_and_not_changed(
        self, content: bytes
    ) -> None:
        self.path.write_bytes(content)
        self.assertRaises(journal.JournalError, self.open)
        self.assertEqual(content, self.path.read_bytes())

    def test_entry_that_was_edited_is_named(self) -> None:
        self.write(outcomes.Status.DONE)
        whole = self.path.read_text()
        for name in ('ident', 'status', 'at'):
            self.path.write_text(whole.replace(f'"{name}": "', '"x": "'))
            error = self.assertRaises(journal.JournalError, self.open)
            self.assertIn('is not a journal', str(error))

    @hypothesis.given(
        strategies.data(),
        strategies.sampled_from((0, 1, 2)),
    )
    def test_damaged_journal_is_read_or_refused(
        self, data: strategies.DataObject, number: int
    ) -> None:
        self.path.unlink(missing_ok=True)
        self.write(outcomes.Status.DONE)
        lines = self.path.read_bytes().splitlines(keepends=True)
        altered = data.draw(untrusted.altered(json.loads(lines[number])))
        lines[number] = f'{json.dumps(altered)}\n'.encode()
        content = data.draw(
            untrusted.damaged(b''.join(lines))
            | strategies.just(b''.join(lines))
        )
        self.path.write_bytes(content)
        self.check_readable()

    def check_readable(self) -> None:
        content = self.path.read_bytes()
        with contextlib.suppress(journal.JournalError):
            with self.open() as written:
                written.done(
                    *_KEY, datetime.datetime.now(datetime.timezone.utc)
                )
            return
        self.assertEqual(content, self.path.read_bytes())

    @ddt.data(
        {'ident': []},
        {'status': {}},
        {'client': []},
        {'at': 'now'},
        {'at': '2026-11-27'},
        {'at': 1},
    )
    def test_entry_with_another_type_is_refused(
        self, changes: dict[str, object]
    ) -> None:
        self.write(outcomes.Status.DONE)
        header, begun, done = self.path.read_text().splitlines()
        altered = json.dumps({**json.loads(done), **changes})
        self.path.write_text(f'{header}\n{begun}\n{altered}\n')
        self.assertRaises(journal.JournalError, self.open)

    def test_first_line_that_is_an_entry_is_refused(self) -> None:
        self.write(outcomes.Status.DONE)
        header, *rest = self.path.read_text().splitlines()
        altered = json.dumps({**json.loads(header), 'status': 'begun'})
        self.path.write_text('\n'.join([altered, *rest, '']))
        self.assertRaises(journal.JournalError, self.open)

    def test_full_disk_is_told_with_the_file(self) -> None:
        with self.open() as written:
            full = OSError(errno.ENOSPC, 'No space left on device')
            self.patch(os, 'write', mock.Mock(side_effect=full))
            error = self.assertRaises(
                journal.JournalError, written.begin, *_KEY
            )
        self.assertIn(f'write {self.path}: [Errno 28]', str(error))

    def test_device_is_refused(self) -> None:
        self.path = pathlib.Path(os.devnull)
        error = self.assertRaises(journal.JournalError, self.open)
        self.assertIn('/dev/null is not a regular file', str(error))

    def test_journal_of_another_command_or_cluster_is_refused(self) -> None:
        """The names of its clients may be those of guests there."""
        self.write()
        for place in ({'command': 'clean apply'}, {'cluster': 'another'}):
            error = self.assertRaises(journal.JournalError, self.open, **place)
            (name,) = place.values()
            self.assertIn(name, str(error))

    def test_in_use(self) -> None:
        with self.open():
            error = self.assertRaises(journal.JournalError, self.open)
        self.assertIn('in use by another run', str(error))

    def test_folder_that_does_not_exist(self) -> None:
        self.path = self.path / 'journal'
        self.assertRaises(journal.JournalError, self.open)
