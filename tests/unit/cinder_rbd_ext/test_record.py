# SPDX-License-Identifier: Apache-2.0

from typing import ClassVar
from unittest import mock

import cinder  # noqa: F401 - first of all: it decides about eventlet
from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.tests.unit import test
from cinder.tests.unit import utils as cinder_utils
import fixtures

from cinder_rbd_ext import record
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import plan

_PLAIN = plan.ImageState(
    layout.ImageLayout(4 << 20), frozenset({'layering', 'exclusive-lock'})
)
_STRIPED = plan.ImageState(
    layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8)),
    frozenset({'layering', 'striping', 'data-pool'}),
    'data',
)
_PLAIN_RECORDED = {
    keys.OBJECT_SIZE: '4194304',
    keys.STRIPE_UNIT: '4194304',
    keys.STRIPE_COUNT: '1',
    keys.FEATURES: 'exclusive-lock,layering',
}
_STRIPED_RECORDED = {
    keys.OBJECT_SIZE: '1048576',
    keys.STRIPE_UNIT: '65536',
    keys.STRIPE_COUNT: '8',
    keys.FEATURES: 'data-pool,layering,striping',
    keys.DATA_POOL: 'data',
}


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
        return dict(db.volume_admin_metadata_get(self.admin, self.volume.id))

    def reason(self) -> str | None:
        """Return the reason that is shown to the tenant."""
        return image_record.refusal(self.recorded())


class MadeTest(RecordTestCase):
    def test_created_image_is_recorded(self) -> None:
        record.made(self.volume.id, _STRIPED)
        self.assertEqual(_STRIPED_RECORDED, self.recorded())

    def test_tenants_metadata_stays_as_written(self) -> None:
        record.made(self.volume.id, _STRIPED)
        self.volume.refresh()
        self.assertEqual({'rbd:object_size': '1M'}, self.volume.metadata)

    def test_made_anew(self) -> None:
        """The data pool is removed; other metadata is kept."""
        db.volume_admin_metadata_update(
            self.admin, self.volume.id, {'readonly': 'True'}, False
        )
        record.made(self.volume.id, _STRIPED)
        record.made(self.volume.id, _PLAIN)
        self.assertEqual(
            {**_PLAIN_RECORDED, 'readonly': 'True'}, self.recorded()
        )


class MovedTest(RecordTestCase):
    def test_moved_image_is_recorded(self) -> None:
        record.moved(self.volume.id, _STRIPED)
        self.assertEqual(_STRIPED_RECORDED, self.recorded())

    def test_a_database_that_fails_is_logged(self) -> None:
        self.patch(
            'cinder.db.api.volume_admin_metadata_update', side_effect=OSError
        )
        record.moved(self.volume.id, _STRIPED)
        self.assertIn('Could not update the record of volume', self.log.output)


class RefusedTest(RecordTestCase):
    def test_tenant_can_read_it(self) -> None:
        record.refused(self.volume.id, 'the reason')
        self.assertEqual('the reason', self.reason())

    def test_later_refusal_replaces_the_earlier(self) -> None:
        record.refused(self.volume.id, 'x' * 600)
        record.refused(self.volume.id, 'a shorter one')
        self.assertEqual('a shorter one', self.reason())
        self.assertEqual(1, len(self.recorded()))

    def test_made_after_all(self) -> None:
        record.refused(self.volume.id, 'x' * 600)
        record.made(self.volume.id, _PLAIN)
        self.assertEqual(_PLAIN_RECORDED, self.recorded())
        self.assertIsNone(self.reason())

    def test_long_text(self) -> None:
        """A long text is split to fit the column."""
        record.refused(self.volume.id, 'x' * 600)
        self.assertEqual('x' * 600, self.reason())
        self.assertEqual(255, max(map(len, self.recorded().values())))
        record.refused(self.volume.id, 'x' * 5000)
        self.assertEqual('x' * 1017 + '...', self.reason())

    def test_image_metadata_is_left_alone(self) -> None:
        """Tenants can change it, and Cinder clears it on failed creation."""
        record.refused(self.volume.id, 'the reason')
        self.assertRaises(
            exception.GlanceMetadataNotFound,
            db.volume_glance_metadata_get,
            self.admin,
            self.volume.id,
        )

    def test_database_that_is_down(self) -> None:
        """A database failure is logged and not raised."""
        with mock.patch.object(
            db,
            'volume_admin_metadata_update',
            autospec=True,
            side_effect=RuntimeError('down'),
        ):
            record.refused(self.volume.id, 'the reason')
        self.assertIn('Could not record', self.log.output)
        self.assertIn('down', self.log.output)


class AcceptedTest(RecordTestCase):
    """The cache mode that the API extension or the driver accepted."""

    _MODE: ClassVar[dict[str, str]] = {'rbd:cache_mode': 'writeback'}

    def test_accepted_mode_is_recognized_with_and_without_its_record(
        self,
    ) -> None:
        record.accepted(self.volume.id, {**self._MODE, 'a': 'b'})
        self.assertTrue(
            record.is_accepted(self.volume, 'rbd:cache_mode', 'writeback')
        )
        self.assertFalse(
            record.is_accepted(self.volume, 'rbd:cache_mode', 'none')
        )
        volume = objects.Volume.get_by_id(self.admin, self.volume.id)
        self.assertTrue(
            record.is_accepted(volume, 'rbd:cache_mode', 'writeback')
        )

    def test_other_keys_leave_the_accepted_mode(self) -> None:
        record.accepted(self.volume.id, self._MODE)
        record.accepted(self.volume.id, {'a': 'b'})
        self.assertTrue(
            record.is_accepted(self.volume, 'rbd:cache_mode', 'writeback')
        )

    def test_made_volume_is_accepted_with_its_metadata(self) -> None:
        record.made(self.volume.id, _PLAIN, accepted=self._MODE)
        self.assertTrue(
            record.is_accepted(self.volume, 'rbd:cache_mode', 'writeback')
        )

    def test_acceptance_ends_with_the_key(self) -> None:
        record.accepted(self.volume.id, self._MODE)
        record.accepted(self.volume.id, {}, ['rbd:cache_mode', 'a'])
        self.assertEqual(
            {}, image_record.values_accepted(record.items_of(self.volume.id))
        )

    def test_image_that_is_made_ends_earlier_acceptances(self) -> None:
        record.accepted(self.volume.id, self._MODE)
        record.made(self.volume.id, _PLAIN)
        self.assertEqual(
            self._MODE,
            image_record.values_accepted(record.items_of(self.volume.id)),
        )
        record.made(self.volume.id, _PLAIN, accepted={})
        self.assertEqual(
            {}, image_record.values_accepted(record.items_of(self.volume.id))
        )

    def test_failure_to_record_is_only_logged(self) -> None:
        db.volume_destroy(self.admin, self.volume.id)
        record.accepted(self.volume.id, self._MODE)
        self.assertIn('Could not record accepted', self.log.output)
