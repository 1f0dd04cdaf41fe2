# SPDX-License-Identifier: Apache-2.0

import errno
import os
import pathlib
import subprocess
import sys
from unittest import mock

import fixtures

from rbd_volume_tools.command_line import whole_file
from tests import tree
from tests.unit import base

_COPY = (
    'import pathlib, sys; '
    'from rbd_volume_tools.command_line import whole_file; '
    'path = pathlib.Path(sys.argv[1]); '
    'whole_file.write(path, whole_file.read(path) * 2)'
)


class WholeFileTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = self.folder / 'file'

    def test_file_is_replaced_in_one_step(self) -> None:
        old = os.umask(0o077)
        self.addCleanup(os.umask, old)
        for text in ('one', 'two'):
            whole_file.check(self.path)
            whole_file.write(self.path, text)
            self.assertEqual(text, self.path.read_text())
        self.assertEqual(0o644, self.path.stat().st_mode & 0o777)
        self.assertEqual([self.path], list(self.folder.iterdir()))

    def test_file_that_cannot_be_read_is_named(self) -> None:
        self.path.write_bytes(b'\xff')
        none = self.folder / 'none'
        for path, why in ((self.path, "'utf-8' codec"), (none, 'No such')):
            error = self.assertRaises(ValueError, whole_file.read, path)
            self.assertTrue(
                str(error).startswith(f'Cannot read {path}: {why}')
            )
        self.path.write_text('text')
        self.assertEqual('text', whole_file.read(self.path))

    def test_what_is_no_regular_file_is_refused_at_once(self) -> None:
        os.mkfifo(self.path)
        for path in (self.path, pathlib.Path('/dev/zero'), self.folder):
            error = self.assertRaises(ValueError, whole_file.read, path)
            self.assertIn(f'Cannot read {path}: ', str(error))

    def test_files_are_utf_8_in_a_locale_with_another_encoding(self) -> None:
        self.path.write_text('größer', 'utf-8')
        subprocess.run(
            [sys.executable, '-c', _COPY, self.path],
            cwd=tree.ROOT,
            # The locale C, without Python's exception for it.
            env={**os.environ, 'LC_ALL': 'C', 'PYTHONUTF8': '0'},
            check=True,
        )
        self.assertEqual('größergrößer', self.path.read_text('utf-8'))

    def test_parts_are_written_in_order(self) -> None:
        null = pathlib.Path('/dev/null')
        for path in (self.path, null):
            whole_file.write(path, iter(['one, ', 'two']))
        self.assertEqual('one, two', self.path.read_text())

    def test_failure_keeps_the_old_file_and_names_it(self) -> None:
        self.path.write_text('old')
        full = OSError(errno.ENOSPC, 'full')
        replace = mock.patch.object(
            os, 'replace', autospec=True, side_effect=full
        )
        with replace:
            error = self.assertRaises(
                OSError, whole_file.write, self.path, 'new'
            )
        self.assertIn(str(self.path), str(error))
        self.assertEqual('old', self.path.read_text())
        self.assertEqual([self.path], list(self.folder.iterdir()))

    def test_new_file_replaces_nothing(self) -> None:
        whole_file.write(self.path, 'old', is_new=True)
        link = self.folder / 'link'
        link.symlink_to(self.folder / 'none')
        for path in (self.path, link):
            self.assertRaises(
                *(FileExistsError, whole_file.write, path, 'new'),
                is_new=True,
            )
        self.assertEqual('old', self.path.read_text())
        self.assertEqual({self.path, link}, set(self.folder.iterdir()))

    def test_links_are_written(self) -> None:
        link = self.folder / 'link'
        link.symlink_to(self.path)
        whole_file.check(link)
        whole_file.write(link, 'text')
        self.assertTrue(link.is_symlink())
        self.assertEqual('text', self.path.read_text())

    def test_devices_are_written(self) -> None:
        null = pathlib.Path('/dev/null')
        whole_file.check(null)
        whole_file.write(null, 'text')
        self.assertTrue(null.is_char_device())

    def test_file_that_cannot_be_written_is_refused_early(self) -> None:
        missing = self.folder / 'none' / 'file'
        for path, reason in (
            (self.folder, 'is a folder'),
            (missing, 'none is missing'),
        ):
            error = self.assertRaises(ValueError, whole_file.check, path)
            self.assertIn(reason, str(error))

    def test_check_of_the_permission(self) -> None:
        access = mock.patch.object(
            os, 'access', autospec=True, return_value=False
        )
        with access:
            self.assertRaises(ValueError, whole_file.check, self.path)
