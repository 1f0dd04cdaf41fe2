# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any

from cinder.db import api as db
from oslo_utils import timeutils
import sqlalchemy

from cinder_rbd_ext import reasons
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.retype import marker
from rbd_volume_options import errors
from tests.unit.cinder_rbd_ext.api import base

_NAMES = (
    'object_size',
    'stripe_unit',
    'stripe_count',
    'features',
    'data_pool',
    'compression_hint',
    'limits',
    'discard',
    'discard_granularity',
    'detect_zeroes',
    'sector_size',
    'origins',
    'cache_modes',
    'cache_modes_in_force',
    'refused',
    'attach_refused',
    'conversion',
)
_SHOWN = {
    'object_size': 1048576,
    'stripe_unit': 65536,
    'stripe_count': 8,
    'features': ['exclusive-lock', 'layering', 'striping'],
    'data_pool': 'ec',
    'compression_hint': None,
    'limits': {},
    'discard': {},
    'discard_granularity': {},
    'detect_zeroes': {},
    'sector_size': None,
    'origins': None,
    'cache_modes': {},
    'cache_modes_in_force': {},
    'refused': None,
    'attach_refused': None,
    'conversion': None,
}


class AttributesTest(base.ApiTestCase):
    """GET volumes/{id} and volumes/detail."""

    def attributes(self, shown: base.Answer) -> base.Answer:
        """Return the suite's attributes of a volume."""
        return {
            key.partition(':')[2]: value
            for key, value in shown.items()
            if key.startswith('os-rbd-volume-options:')
        }

    def shown_of(self, volume: Any, **how: Any) -> base.Answer:
        """Return the suite's attributes in the response for a volume."""
        shown = self.ok('GET', f'/volumes/{volume.id}', **how)['volume']
        return self.attributes(shown)

    def test_attributes_show_image_and_hide_pool_from_tenants(self) -> None:
        made = {**base.MADE, 'rbd:data_pool': 'ec'}
        volume = self.volume({'rbd:object_size': '1M'}, made)
        for app in (self.app, self.admin, self.reader):
            shown = self.ok('GET', f'/volumes/{volume.id}', app=app)['volume']
            # Only administrators see names of pools.
            pool = 'ec' if app is self.admin else None
            wanted = {**_SHOWN, 'data_pool': pool}
            self.assertEqual(wanted, self.attributes(shown))
            # The metadata keeps the value as it was requested.
            self.assertEqual({'rbd:object_size': '1M'}, shown['metadata'])
            (shown,) = self.ok('GET', '/volumes/detail', app=app)['volumes']
            self.assertEqual(wanted, self.attributes(shown))

    def test_origins_are_shown_in_words(self) -> None:
        origins = 'object_size=volume_type,striping=backend,features=cluster'
        volume = self.volume(made={**base.MADE, 'rbd:origins': origins})
        self.assertEqual(
            {
                'object_size': 'volume type',
                'striping': 'backend configuration',
                'features': 'Ceph configuration',
            },
            self.shown_of(volume)['origins'],
        )

    def test_object_size_of_the_back_end(self) -> None:
        origins = 'object_size=cluster,striping=cluster,features=cluster'
        volume = self.volume(made={**base.MADE, 'rbd:origins': origins})
        self.assertEqual(
            {
                # rbd_store_chunk_size; the response for types has it too.
                'object_size': 'backend configuration',
                'striping': 'Ceph configuration',
                'features': 'Ceph configuration',
            },
            self.shown_of(volume)['origins'],
        )

    def test_nothing_recorded(self) -> None:
        elsewhere = {**base.MADE, 'rbd:recorded_by': 'host@elsewhere'}
        for made in (None, {'rbd:object_size': 'x'}, elsewhere):
            volume = self.volume(made=made)
            wanted: dict[str, Any] = dict.fromkeys(_NAMES)
            objects = [name for name in _NAMES if _SHOWN[name] == {}]
            wanted |= {name: {} for name in objects}
            self.assertEqual(wanted, self.shown_of(volume))

    def test_cache_modes(self) -> None:
        volume = self.volume()
        requested: dict[str, str | None] = {}
        in_force: dict[str, str | None] = {}
        plugged = {'rbd_host': {'modes': ['none', 'writeback']}}
        for mode, connector, chosen in (
            ('writeback', plugged, 'writeback'),
            ('directsync', plugged, 'none'),
            ('writeback', {'host': 'compute'}, None),
            (None, plugged, None),
        ):
            attachment = self.add_attachment(volume.id, 'attached')
            attachment.connection_info = {'cache_mode': mode} if mode else {}
            attachment.connector = connector
            attachment.save()
            requested[attachment.id] = mode
            in_force[attachment.id] = chosen
        (listed,) = self.ok('GET', '/volumes/detail')['volumes']
        for shown in self.shown_of(volume), self.attributes(listed):
            self.assertEqual(requested, shown['cache_modes'])
            self.assertEqual(in_force, shown['cache_modes_in_force'])

    def test_refused_creation(self) -> None:
        volume = self.volume()
        user_messages.refused(
            volume, user_messages.Operation.CREATION, 'x' * 300
        )
        self.assertEqual('x' * 300, self.shown_of(volume)['refused'])
        (shown,) = self.ok('GET', '/volumes/detail')['volumes']
        self.assertEqual('x' * 300, self.attributes(shown)['refused'])

    def test_refused_attachment(self) -> None:
        volume = self.volume()
        error = errors.OptionError('rbd:cache_mode', 'none', 'x' * 300, 'no')
        user_messages.refused(
            volume, user_messages.Operation.ATTACHMENT, error
        )
        refused = self.shown_of(volume)['attach_refused']
        self.assertIn('x' * 300, refused['reason'])
        at = timeutils.parse_isotime(refused['at'])
        self.assertFalse(timeutils.is_older_than(at, 60))
        record.forget_reason(volume.id, reasons.ATTACHMENT)
        (shown,) = self.ok('GET', '/volumes/detail')['volumes']
        self.assertIsNone(self.attributes(shown)['attach_refused'])

    def test_conversion_is_shown_while_it_runs(self) -> None:
        volume = self.volume(made=base.MADE)
        begun = marker.Marker('image', type_id=volume.volume_type_id)
        marker.write(volume.id, dataclasses.replace(begun, percent=42))
        # The conversion has ended. Its marker will be removed.
        self.assertIsNone(self.shown_of(volume)['conversion'])
        volume.update({'status': 'retyping'})
        volume.save()
        (shown,) = self.ok('GET', '/volumes/detail')['volumes']
        told = self.attributes(shown)['conversion']
        self.assertEqual((42, None), (told['percent'], told['reason']))
        at = timeutils.parse_isotime(told['at'])
        self.assertFalse(timeutils.is_older_than(at, 60))
        marker.forget(volume.id, begun)
        user_messages.refused(volume, user_messages.Operation.LAYOUT, 'in use')
        self.assertEqual(
            {
                'percent': None,
                'at': None,
                'reason': 'in use',
                'new_type_id': None,
            },
            self.shown_of(volume)['conversion'],
        )

    def test_new_type_of_a_conversion(self) -> None:
        """Only those who may see pools see its id."""
        volume = self.volume(made=base.MADE)
        marker.write(volume.id, marker.Marker('image', type_id='type'))
        volume.update({'status': 'retyping'})
        volume.save()
        for app, expected in ((self.admin, 'type'), (self.app, None)):
            told = self.shown_of(volume, app=app)['conversion']
            self.assertEqual(expected, told['new_type_id'])

    def test_list_without_details(self) -> None:
        self.volume(made=base.MADE)
        (shown,) = self.ok('GET', '/volumes')['volumes']
        self.assertEqual({}, self.attributes(shown))

    def test_others_see_nothing(self) -> None:
        volume = self.volume(made=base.MADE)
        path = f'/volumes/{volume.id}'
        self.refused(404, volume.id, 'GET', path, app=self.stranger)

    def _queries(self) -> int:
        """Return the number of database queries for a page of volumes."""
        queries: list[Any] = []

        def counted(*arguments: Any) -> None:
            queries.append(arguments)

        # Up to Cinder 28 the database API is behind IMPL.
        engine = getattr(db, 'IMPL', db).get_engine()
        sqlalchemy.event.listen(engine, 'before_cursor_execute', counted)
        try:
            self.ok('GET', '/volumes/detail')
        finally:
            sqlalchemy.event.remove(engine, 'before_cursor_execute', counted)
        return len(queries)

    def test_no_query_for_each_volume(self) -> None:
        self.volume(made=base.MADE)
        one = self._queries()
        self.assertLess(0, one)
        for _ in range(5):
            self.volume(made=base.MADE)
        self.assertEqual(one, self._queries())
