# SPDX-License-Identifier: Apache-2.0

"""Marks of images in the trash."""

import dataclasses
import datetime
import json
import unittest

from rbd_volume_options import trash_mark

_MARK = trash_mark.Mark(trash_mark.KEPT, 'project', 'volume', 1 << 30, 1e9)
_TEXT = _MARK.text(7, '10ab')


class MarkTest(unittest.TestCase):
    def test_mark_is_read_as_it_was_written(self) -> None:
        metadata = {trash_mark.KEY: _TEXT}
        self.assertEqual(_MARK, trash_mark.parse(metadata, 7, '10ab'))

    def test_mark_of_another_image_or_pool_is_not_valid(self) -> None:
        """Clones inherit image metadata, and pools can be copied."""
        metadata = {trash_mark.KEY: _TEXT}
        self.assertIsNone(trash_mark.parse(metadata, 7, '10ac'))
        self.assertIsNone(trash_mark.parse(metadata, 8, '10ab'))

    def test_text_of_another_program_is_no_mark(self) -> None:
        items = json.loads(_TEXT)
        for text in (
            '',
            'x',
            '[]',
            '{}',
            json.dumps(items | {'more': 1}),
            json.dumps(items | {'size': 'large'}),
            json.dumps(items | {'at': None}),
        ):
            metadata = {trash_mark.KEY: text}
            self.assertIsNone(trash_mark.parse(metadata, 7, '10ab'), text)
        self.assertIsNone(trash_mark.parse({}, 7, '10ab'))

    def test_mark_is_of_a_move_at_the_same_time(self) -> None:
        at = datetime.datetime(2026, 1, 1, 12)
        seconds = at.replace(tzinfo=datetime.timezone.utc).timestamp()
        mark = dataclasses.replace(_MARK, at=seconds)
        self.assertTrue(mark.is_of_move(at + datetime.timedelta(seconds=9)))
        self.assertFalse(mark.is_of_move(at + datetime.timedelta(hours=1)))
