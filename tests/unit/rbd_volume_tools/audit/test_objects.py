# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.audit.objects.

The functional tests read and change objects on a cluster.
"""

import time
from typing import Any
from unittest import mock

import hypothesis

from rbd_volume_options import ownership
from rbd_volume_tools.audit import objects
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.audit import stubs


class ObjectsTest(untrusted.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.pool: Any = stubs.Pool()

    def test_time_of_a_name_is_that_of_its_object(self) -> None:
        self.assertIsNone(objects.named_at(self.pool, self.pool, 'a'))
        self.pool.stat = lambda key: (len(key), time.localtime(1000))
        named = objects.named_at(self.pool, self.pool, 'a')
        self.assertEqual(1000, named.timestamp() if named else None)

    def test_each_entry_of_the_trash_is_read(self) -> None:
        self.pool.omaps['rbd_trash'] = {
            f'id_{source}': stubs.trash_entry('a', source, source % 2)
            for source in (0, 2, 3, 9)
        }
        entries = objects.trash(self.pool, self.pool, 'volumes')
        source = objects.TrashSource
        self.assertEqual(
            [source.USER, source.MIGRATION, source.REMOVING, source.UNKNOWN],
            [each.source for each in entries],
        )
        state = objects.TrashState
        self.assertEqual(
            [state.SETTLED, state.SETTLED, state.MOVING, state.MOVING],
            [each.state for each in entries],
        )
        self.assertEqual(2000, entries[0].expires.timestamp())
        self.assertEqual(1000, entries[0].moved.timestamp())

    def test_entry_of_luminous_has_no_state(self) -> None:
        self.pool.omaps['rbd_trash'] = {
            'id_a': stubs.trash_entry('a', 0, None)
        }
        (entry,) = objects.trash(self.pool, self.pool, 'volumes')
        self.assertTrue(entry.is_settled)

    @hypothesis.given(
        untrusted.BYTES | untrusted.damaged(stubs.trash_entry('volume-1', 1))
    )
    @hypothesis.example(b'')
    @hypothesis.example(stubs.trash_entry('a')[:-1])
    def test_damaged_entry_is_named_or_read(self, value: bytes) -> None:
        self.pool.omaps['rbd_trash'] = {'id_abc': value}
        for read in (
            lambda: objects.trash(self.pool, self.pool, 'volumes'),
            lambda: objects.trash_entry(
                self.pool, self.pool, 'volumes', 'abc'
            ),
        ):
            try:
                read()
            except ValueError as error:
                self.assertIn('Entry id_abc of rbd_trash in pool', str(error))

    def test_directory_is_read_in_pages(self) -> None:
        self.pool.omaps['rbd_directory'] = {
            f'name_{n}': ownership.encoded(f'id{n}') for n in range(5)
        }
        with mock.patch.object(objects, '_PAGE', 2):
            directory = objects.directory(self.pool, self.pool)
        self.assertEqual({str(n): f'id{n}' for n in range(5)}, directory)

    def test_pool_without_images_has_no_directory(self) -> None:
        self.assertEqual({}, objects.directory(self.pool, self.pool))
        self.assertEqual([], objects.trash(self.pool, self.pool, 'volumes'))

    def test_name_of_an_interrupted_creation_has_no_id(self) -> None:
        self.pool.objects['rbd_id.a'] = b''
        self.assertEqual(('', 1), objects.id_of(self.pool, self.pool, 'a'))

    def test_damaged_id_is_none(self) -> None:
        self.pool.objects['rbd_id.a'] = b'\x08\x00'
        self.assertIsNone(objects.id_of(self.pool, self.pool, 'a'))

    def is_gone(self) -> bool:
        where = (self.pool, self.pool, 'volumes')
        return objects.is_gone(*where, 'a@snapshot', 'abc')

    def test_image_is_gone_when_nothing_leads_to_it(self) -> None:
        self.assertTrue(self.is_gone())
        self.pool.omaps['rbd_directory'] = {'name_a': ownership.encoded('bcd')}
        self.assertTrue(self.is_gone(), 'another image has the name')
        self.pool.omaps['rbd_directory'] = {'name_a': ownership.encoded('abc')}
        self.assertFalse(self.is_gone(), 'its name')
        self.pool.omaps['rbd_directory'] = {}
        self.pool.objects['rbd_header.abc'] = b''
        self.assertFalse(self.is_gone(), 'its header')
        del self.pool.objects['rbd_header.abc']
        self.pool.omaps['rbd_trash'] = {'id_abc': stubs.trash_entry('a')}
        self.assertFalse(self.is_gone(), 'its entry of the trash')

    def inventory(self, script: str) -> objects.Inventory:
        return objects.inventory(self.pool, ['sh', '-c', script])

    def test_list_that_ends_with_an_error_is_not_complete(self) -> None:
        key = f'rbd_data.abc.{5:016x}'
        listed = self.inventory(f'echo {key}')
        self.assertEqual({(1, 'abc'): 1}, listed.data)
        self.assertEqual({}, listed.unlisted)
        listed = self.inventory(f'echo {key}; echo timed out >&2; exit 1')
        self.assertIn('timed out', listed.unlisted['volumes'])
        self.pool.application_list = lambda: ['mgr']
        self.assertEqual({}, self.inventory('exit 1').unlisted)

    def test_list_needs_the_program(self) -> None:
        listed = objects.inventory(self.pool, ['/none'])
        self.assertIn('Install ceph-common', listed.unlisted['volumes'])

    def test_data_in_any_pool_belongs_to_the_pool_of_its_header(self) -> None:
        listed = objects.Inventory()
        number = f'{5:016x}'
        for pool_id, key in (
            (1, 'rbd_header.abc'),
            (1, f'rbd_data.abc.{number}'),
            (2, f'rbd_data.1.abc.{number}'),
            (2, f'rbd_data.1.bcd.{number}'),
            (2, f'rbd_data.bcd.{number}'),
            (2, 'rbd_data.bcd.unknown'),
        ):
            objects._add(listed, pool_id, key)
        self.assertEqual(2, listed.data[1, 'abc'])
        self.assertEqual(
            {(1, 'bcd'): 1, (2, 'bcd'): 1}, listed.without_header()
        )
