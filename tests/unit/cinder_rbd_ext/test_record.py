# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from typing import Any
from typing import ClassVar
from unittest import mock

import cinder  # noqa: F401 - first of all: it decides about eventlet
from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.tests.unit import fake_constants as fake
from cinder.tests.unit import test
from cinder.tests.unit import utils as cinder_utils
import fixtures
import sqlalchemy

from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options import volume_items

_PLAIN = options.image_values(
    layout.ImageLayout(4 << 20), frozenset({'layering', 'exclusive-lock'})
)
_STRIPED = options.image_values(
    layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8)),
    frozenset({'layering', 'striping', 'data-pool'}),
    'data',
)
_ORIGINS = dict.fromkeys(options.PARTS, errors.Origin.VOLUME_TYPE)


class RecordTestCase(test.TestCase):
    """A volume of a tenant in Cinder's database."""

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.context = context.RequestContext('user', 'project')
        self.admin = context.get_admin_context()
        self.volume = cinder_utils.create_volume(
            self.context, metadata={'rbd:object_size': '1M'}
        )

    def recorded(self) -> dict[str, str]:
        """Return the volume's admin metadata."""
        return record.items_of(self.volume.id)

    def rows(self) -> dict[str, str]:
        """Return the rows of the volume's admin metadata."""
        return dict(db.volume_admin_metadata_get(self.admin, self.volume.id))

    def statements(self, act: Callable[[], Any]) -> list[str]:
        """Return the statements of an act."""
        engine = releases.database().get_engine()
        statements: list[str] = []

        def note(*args: Any) -> None:
            statements.append(args[2])

        sqlalchemy.event.listen(engine, 'before_cursor_execute', note)
        try:
            act()
        finally:
            sqlalchemy.event.remove(engine, 'before_cursor_execute', note)
        return [text for text in statements if text != 'BEGIN']


class ReplaceTest(RecordTestCase):
    def _read(self) -> image_record.Record | None:
        return image_record.read(record.stored(self.volume.id))

    def test_created_image_is_recorded_in_the_row_of_the_volume(self) -> None:
        new = image_record.Record(_STRIPED.with_origins(_ORIGINS), 'host@rbd')
        record.replace(self.volume, new)
        self.assertEqual(new, self._read())
        self.assertEqual({}, self.recorded())

    def test_object_of_the_manager_never_saves_an_old_record(self) -> None:
        stale = objects.Volume.get_by_id(self.admin, self.volume.id)
        record.replace(self.volume, image_record.Record(_STRIPED))
        for volume in (self.volume, stale):
            self.assertNotIn('provider_id', volume.obj_what_changed())
            volume.display_description = 'changed'
            volume.save()
        self.assertEqual(image_record.Record(_STRIPED), self._read())

    def test_image_that_was_replaced_meanwhile_is_not_recorded(self) -> None:
        db.volume_update(self.admin, self.volume.id, {'_name_id': fake.UUID1})
        self.assertRaises(
            exception.VolumeBackendAPIException,
            record.replace,
            self.volume,
            image_record.Record(_STRIPED),
        )
        self.assertIsNone(self._read())

    def test_column_that_another_image_has_does_not_count(self) -> None:
        """As after a migration by Cinder, which copies and swaps it."""
        record.replace(self.volume, image_record.Record(_STRIPED))
        db.volume_update(self.admin, self.volume.id, {'_name_id': fake.UUID1})
        self.assertIsNone(self._read())

    def test_no_update_is_lost(self) -> None:
        record.replace(self.volume, image_record.Record(_PLAIN))
        read, others = record.stored, [image_record.Record(_STRIPED)]

        def read_then_changed(volume_id: str) -> record.Row:
            row = read(volume_id)
            if others:
                record.replace(self.volume, others.pop())
            return row

        with mock.patch.object(
            record, 'stored', autospec=True, side_effect=read_then_changed
        ):
            record.moved(self.volume.id, 'h@b')
        self.assertEqual(
            image_record.Record(_STRIPED, backend='h@b'), self._read()
        )

    def _statements(self, read: Callable[[str], Any]) -> list[str]:
        """Return the statements of a read of the volume."""
        return self.statements(lambda: read(self.volume.id))

    def test_metadata_of_the_tenant_does_not_multiply_other_rows(self) -> None:
        record.accepted(self.volume.id, {'rbd:cache_mode': 'none'})
        (row,) = self._statements(record.stored_volume)
        self.assertNotIn(' volume_metadata', row)

    def test_volume_is_read_as_cinder_reads_it(self) -> None:
        record.accepted(self.volume.id, {'rbd:cache_mode': 'none'})
        volume = record.stored_volume(self.volume.id)
        other = objects.Volume.get_by_id(self.admin, self.volume.id)
        # These are read when they are needed.
        self.assertEqual(other.metadata, volume.metadata)
        self.assertEqual([], list(volume.volume_attachment))
        self.assertEqual(other.obj_to_primitive(), volume.obj_to_primitive())
        self.assertRaises(
            exception.VolumeNotFound, record.stored_volume, fake.UUID1
        )


class ForgetTest(RecordTestCase):
    def test_record_of_a_volume_that_has_left_is_removed(self) -> None:
        record.replace(
            self.volume,
            image_record.Record(_PLAIN),
            accepted={'rbd:cache_mode': 'none'},
            disk={keys.SECTOR_SIZE: 4096},
        )
        record.forget(self.volume.id)
        row = record.stored(self.volume.id)
        self.assertIsNone(row.provider_id)
        self.assertEqual({keys.SECTOR_SIZE: '4096'}, self.recorded())

    def test_what_another_driver_wrote_is_kept(self) -> None:
        foreign = {'provider_id': 'of another driver'}
        db.volume_update(self.admin, self.volume.id, foreign)
        record.forget(self.volume.id)
        self.assertEqual(
            'of another driver', record.stored(self.volume.id).provider_id
        )


class StatementsTest(RecordTestCase):
    """Each write is one transaction that reads the items once."""

    def test_items_are_written_with_the_row_if_they_change(self) -> None:
        new = image_record.Record(_PLAIN)
        accepted = {'rbd:iops_limit': '500', 'rbd:cache_mode': 'none'}
        limits = {'rbd:iops_limit': 500}
        for words, act in (
            ('UPDATE SELECT', lambda: record.replace(self.volume, new)),
            (
                'UPDATE SELECT UPDATE',
                lambda: record.replace(self.volume, new, accepted, limits),
            ),
            ('SELECT SELECT INSERT', self._write),
            ('SELECT SELECT', self._write),
        ):
            sent = [text.split()[0] for text in self.statements(act)]
            self.assertEqual(words.split(), sent)

    def _write(self) -> None:
        record.write(self.volume.id, {'rbd:marked': '1'})


class RowsTest(RecordTestCase):
    """Cinder joins these rows with each item of the tenant's metadata."""

    def test_all_limits_of_a_volume_have_no_row(self) -> None:
        limits = {
            option.key: str(10**6 + number)[: 1 if 'sec' in option.key else 7]
            for number, option in enumerate(
                registry.of_kind(definitions.Kind.IMAGE_CONFIGURATION)
            )
            if option.is_item
        }
        self.assertEqual(18, len(limits))
        record.accepted(self.volume.id, limits)
        record.write(
            self.volume.id,
            *volume_items.configured(
                {key: int(value) for key, value in limits.items()}
            ),
        )
        self.assertEqual({}, self.rows())
        row = record.stored(self.volume.id)
        self.assertLessEqual(len(row.replication_extended_status or ''), 255)
        items = image_record.items(row)
        self.assertEqual(limits, volume_items.values_accepted(items))
        self.assertEqual(
            {key: int(value) for key, value in limits.items()},
            image_record.configuration_in(items),
        )

    def test_column_of_another_driver_is_kept(self) -> None:
        theirs = 'whatever'
        db.volume_update(
            self.admin, self.volume.id, {'replication_extended_status': theirs}
        )
        record.accepted(self.volume.id, {'rbd:cache_mode': 'none'})
        row = record.stored(self.volume.id)
        self.assertEqual(theirs, row.replication_extended_status)
        self.assertEqual('none', self.recorded()['rbd:accepted_cache_mode'])

    def test_item_that_an_operator_writes_counts(self) -> None:
        record.write(self.volume.id, {'rbd:iops_limit': '500'})
        db.volume_admin_metadata_update(
            self.admin, self.volume.id, {'rbd:iops_limit': '7'}, False
        )
        self.assertEqual({'rbd:iops_limit': '7'}, self.recorded())
        record.write(self.volume.id, {'rbd:bps_limit': '8'})
        self.assertEqual({}, self.rows())
        self.assertEqual('7', self.recorded()['rbd:iops_limit'])

    def test_limits_of_qos_specs_are_recorded_as_ceph_reads_them(
        self,
    ) -> None:
        for text, number in (('+70', '70'), ('2K', '2000'), (' 3Ki', '3072')):
            for name in ('iops', 'bps'):
                record.limited(self.volume.id, {f'rbd_qos_{name}_limit': text})
                self.assertEqual(
                    {f'rbd:qos_{name}_limit': number}, self.recorded()
                )
        for text in ('0', '', 'x', '-1'):
            record.limited(self.volume.id, {'rbd_qos_iops_limit': text})
            self.assertEqual({}, self.recorded())

    def test_longest_values_are_complete_or_not_recorded(self) -> None:
        names = [option.key for option in registry.changeable()]
        record.accepted(
            self.volume.id,
            {key: f'{"0" * 31}{n % 10}' for n, key in enumerate(names)},
        )
        values = volume_items.values_accepted(self.recorded())
        self.assertEqual(sorted(names), sorted(values))
        self.assertEqual({32}, set(map(len, values.values())))
        record.accepted(self.volume.id, dict.fromkeys(names, '0' * 33))
        self.assertEqual({}, volume_items.values_accepted(self.recorded()))


class AcceptedTest(RecordTestCase):
    """The cache mode that the API extension or the driver accepted."""

    _MODE: ClassVar[dict[str, str]] = {'rbd:cache_mode': 'writeback'}

    def _accepts(self, value: str, volume: Any = None) -> bool:
        volume = volume or self.volume
        return record.is_accepted(volume, 'rbd:cache_mode', value)

    def test_mode_is_accepted_until_its_key_or_image_is_replaced(self) -> None:
        record.accepted(self.volume.id, {**self._MODE, 'a': 'b'})
        read = objects.Volume.get_by_id(self.admin, self.volume.id)
        for volume in (self.volume, read):
            self.assertTrue(self._accepts('writeback', volume))
            self.assertFalse(self._accepts('none', volume))
        record.accepted(self.volume.id, {'a': 'b'})
        record.replace(self.volume, image_record.Record(_PLAIN))
        self.assertTrue(self._accepts('writeback'))
        record.accepted(self.volume.id, {}, ['rbd:cache_mode', 'a'])
        self.assertFalse(self._accepts('writeback'))
        new = image_record.Record(_PLAIN)
        record.replace(self.volume, new, accepted=self._MODE)
        self.assertTrue(self._accepts('writeback'))
        record.replace(self.volume, new, accepted={})
        self.assertFalse(self._accepts('writeback'))

    def test_failure_to_record_is_only_logged(self) -> None:
        db.volume_destroy(self.admin, self.volume.id)
        record.accepted(self.volume.id, self._MODE)
        self.assertIn('Could not record accepted', self.log.output)
