# SPDX-License-Identifier: Apache-2.0

import dataclasses
import errno
from typing import Any
from unittest import mock

import ddt

from rbd_volume_options import ownership
from rbd_volume_tools.audit import marks
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs
from tests.unit.rbd_volume_tools.fleet import commands

_OURS = 'our cloud'
_NAME = f'volume-{facts.IDENT}'


@ddt.ddt
class MarksTest(commands.CommandTestCase):
    noun = 'mark'

    def setUp(self) -> None:
        super().setUp()
        self.pool.mon_command = lambda *args: (
            (0, b'{"status": "HEALTH_OK"}', '')
        )
        self.pool.get_instance_id = lambda: 41  # type: ignore[attr-defined]
        self.stored = mock.create_autospec(databases.Databases, instance=True)
        self.stored.image.return_value = None
        self.now = mock.create_autospec(records.CloudNow, instance=True)
        self.now.volume.return_value = facts.volume()
        self.read = self.replace(
            ownership, 'text_and_version', return_value=('', 1)
        )
        self.written = self.replace(ownership, 'write')
        self.known = self.records()

    def records(self, **values: Any) -> Any:
        return facts.known(
            facts.volume(),
            cloud_id=_OURS,
            cluster='fsid',
            marking=frozenset({facts.CINDER_POOL}),
            **values,
        )

    # The owner in the mark of an image, its name, other records, and whether
    # it gets a mark.
    @ddt.data(
        ('', _NAME, {}, True),
        (ownership.RELEASED, _NAME, {}, True),
        (_OURS, _NAME, {}, False),
        ('another cloud', _NAME, {}, False),
        # The stock driver would leave the mark when it unmanages the volume.
        ('', _NAME, {'marking': frozenset()}, False),
        ('', _NAME, {'backends': {facts.CINDER_POOL: 'other'}}, False),
        # Nobody knows it, or anybody may have created the record.
        ('', f'volume-{facts.OTHER}', {}, False),
        ('', f'{_NAME}.deleted', {}, False),
        ('', facts.OTHER, {}, False),
        ('', facts.OTHER, {'row': 'other'}, False),
        ('', facts.OTHER, {'row': 'fsid'}, True),
        ('', f'{facts.OTHER}_disk', {}, False),
        (
            *('', f'{facts.OTHER}_disk'),
            *({'servers': frozenset({facts.OTHER})}, True),
        ),
    )
    @ddt.unpack
    def test_image_that_gets_a_mark(
        self, owner: str, name: str, values: dict[str, Any], is_marked: bool
    ) -> None:
        values = dict(values)
        if cluster := values.pop('row', ''):
            url = f'rbd://{cluster}/volumes/{facts.OTHER}/snap'
            values['images'] = frozenset({facts.OTHER})
            self.stored.image.return_value = databases.Row(
                False, locations=(url,)
            )
        known = dataclasses.replace(self.known, **values)
        pool = facts.pool(facts.image(name, owner=owner))
        unmarked = list(marks.unmarked(pool, known, self.stored))
        self.assertEqual(is_marked, bool(unmarked))

    @ddt.data(
        (None, False),
        ({'status': 'unmanaging'}, False),
        ({'pool': 'host@other#other'}, False),
        ({'image_id': facts.OTHER}, False),
        ({}, True),
    )
    @ddt.unpack
    def test_volume_that_left_since_the_plan_is_not_ours(
        self, values: dict[str, Any] | None, is_ours: bool
    ) -> None:
        self.now.volume.return_value = (
            None if values is None else facts.volume(**values)
        )
        self.assertEqual(
            is_ours,
            marks.is_still_ours('volumes', _NAME, self.known, self.now),
        )

    def apply_mark(self) -> str:
        item = outcomes.Outcome(
            *(outcomes.Status.PLANNED, 'volumes', _NAME, 'abc'),
            seen={'owner': ''},
        )
        librados: Any = stubs.cluster(self.pool).librados
        make = marks.Marks(librados, self.known, self.now).make
        return make(item, self.pool, frozenset())

    def test_mark_is_written_over_the_version_that_was_read(self) -> None:
        self.apply_mark()
        self.written.assert_called_once_with(self.pool, 'abc', _OURS, 1)

    def test_image_whose_record_has_changed_is_refused(self) -> None:
        self.now.volume.return_value = None
        error = self.assertRaises(outcomes.Refused, self.apply_mark)
        self.assertIs(marks.CHANGED, error.reason)
        self.written.assert_not_called()

    def test_mark_of_another_cloud_since_the_plan_is_kept(self) -> None:
        text = ownership.mark('another', 1, 'abc')
        self.read.return_value = text, 1
        error = self.assertRaises(outcomes.Refused, self.apply_mark)
        self.assertIs(marks.CHANGED, error.reason)
        self.written.assert_not_called()

    def test_header_that_changed_meanwhile_is_refused(self) -> None:
        librados = stubs.cluster(self.pool).librados
        self.written.side_effect = librados.OSError('x', errno=errno.ERANGE)
        error = self.assertRaises(outcomes.Refused, self.apply_mark)
        self.assertIs(marks.CHANGED, error.reason)

    def test_plan_is_applied(self) -> None:
        self.assertEqual(0, self.plan('--pool', 'volumes'))
        self.written.assert_not_called()
        self.replace(marks.Marks, 'make', return_value='marked')
        self.assertEqual(0, self.apply())
        (row,) = self.rows()
        self.assertEqual(('done', _NAME), (row['Status'], row['Image']))
        self.known = dataclasses.replace(self.known, cloud_id='other')
        self.assertEqual(3, self.apply())
        self.assertIn('rbd_cloud_id was changed', self.err.getvalue())

    def test_disk_of_a_server_that_two_pools_have_is_refused(self) -> None:
        self.pool.images = [f'{facts.IDENT}_disk']
        self.known = self.records(servers=frozenset({facts.IDENT}))
        self.assertEqual(1, self.plan('--pool', 'a', '--pool', 'b'))
        self.assertEqual(
            ['refused', 'refused'], [each['Status'] for each in self.rows()]
        )
        self.assertEqual(0, self.plan('--pool', 'a'))

    def test_pool_and_an_id_of_the_cloud_are_required(self) -> None:
        self.assertEqual(3, self.plan())
        self.known = facts.known()
        self.assertEqual(3, self.plan('--pool', 'volumes'))
        self.assertIn('report no rbd_cloud_id', self.err.getvalue())

    def test_database_is_checked_before_the_scan(self) -> None:
        path = self.path.with_name('glance.conf')
        path.write_text('[database]\nconnection secret\n')
        words = ('--pool', 'volumes', '--glance-config', str(path))
        self.assertEqual(3, self.plan(*words))
        self.assertIn(f'Cannot read {path}: line 2', self.err.getvalue())
        self.assertNotIn('secret', self.err.getvalue())
