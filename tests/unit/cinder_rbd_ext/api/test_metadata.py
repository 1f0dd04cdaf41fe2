# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any
from unittest import mock
from urllib import parse

from cinder import context
from cinder import objects
from cinder.volume import rpcapi
import fixtures

from cinder_rbd_ext import record
from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import metadata
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import restrictions
from rbd_volume_options import backend_settings
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import published
from rbd_volume_options import volume_items
from tests.unit.cinder_rbd_ext.api import base


class MetadataTest(base.ApiTestCase):
    """POST, PUT and DELETE volumes/{id}/metadata."""

    def setUp(self) -> None:
        super().setUp()
        self.there = {'rbd:object_size': '1M', 'rbd:stripes': '8', 'a': 'b'}
        self.id = self.volume(self.there, base.MADE).id
        self.path = f'/volumes/{self.id}/metadata'

    def test_fixed_keys_stay(self) -> None:
        for key, value in (
            ('rbd:object_size', '2M'),
            ('rbd:object_map', 'true'),
            ('rbd:features', 'layering'),
        ):
            words = (key, 'fixed at creation of the volume')
            meta = {key: value}
            all_of_them = {**self.there, **meta}
            self.refused(400, words, 'POST', self.path, {'metadata': meta})
            self.refused(
                400, words, 'PUT', self.path, {'metadata': all_of_them}
            )
            self.refused(
                400, words, 'PUT', f'{self.path}/{key}', {'meta': meta}
            )
        words = ('rbd:object_size', 'cannot be removed')
        self.refused(400, words, 'PUT', self.path, {'metadata': {'a': 'c'}})
        self.refused(400, words, 'DELETE', f'{self.path}/rbd:object_size')
        self.assertEqual(self.there, self.ok('GET', self.path)['metadata'])

    def test_the_same_again(self) -> None:
        meta = {'rbd:object_size': '1M'}
        self.ok('POST', self.path, {'metadata': meta})
        self.ok('PUT', f'{self.path}/rbd:object_size', {'meta': meta})
        self.ok('PUT', self.path, {'metadata': self.there})
        self.get_pools.assert_not_called()

    def test_unknown_keys(self) -> None:
        body = {'metadata': {'rbd:other': '8'}}
        self.refused(400, 'unknown key', 'POST', self.path, body)
        body = {'metadata': {'rbd:data_pool': 'ec'}}
        self.refused(400, 'volume metadata', 'POST', self.path, body)
        # A key that exists already may be deleted.
        self.ok('DELETE', f'{self.path}/rbd:stripes')

    def test_other_spellings(self) -> None:
        """MariaDB treats other spellings as the same key."""
        for key in ('RBD:object_size', 'rbd:Object_Size', 'rbd:object_size '):
            words = 'the exact spelling is rbd:object_size'
            meta = {key: '1M'}
            path = f'{self.path}/{parse.quote(key)}'
            for method, where, body in (
                ('POST', self.path, {'metadata': meta}),
                ('PUT', self.path, {'metadata': {**self.there, **meta}}),
                ('PUT', path, {'meta': meta}),
                ('PUT', path, {'meta': {'a': 'b'}}),
                ('DELETE', path, None),
                (
                    'PUT',
                    f'/volumes/{self.id}',
                    {'volume': {'metadata': {**self.there, **meta}}},
                ),
            ):
                self.refused(400, words, method, where, body)
        # WSGI decodes the path as ISO 8859-1: A with a tilde, and a control
        # character, which newer collations ignore.
        path = f'{self.path}/rbd:object_m%C3%80p'
        words = 'the exact spelling is rbd:object_map'
        self.refused(400, words, 'DELETE', path)
        self.assertEqual(self.there, self.ok('GET', self.path)['metadata'])

    def test_other_spelling_that_is_there(self) -> None:
        """Delete another spelling, unless this also deletes the exact key."""
        old = {'RBD:object_size': '1M', 'Rbd:x': '1'}
        alone = self.volume(old, base.MADE)
        path = f'/volumes/{alone.id}/metadata'
        self.ok('POST', path, {'metadata': {'a': 'b'}})
        self.ok('POST', path, {'metadata': old})
        self.ok('DELETE', f'{path}/Rbd:x')
        self.ok('DELETE', f'{path}/RBD:object_size')
        both = self.volume({**self.there, **old}, base.MADE)
        path = f'/volumes/{both.id}/metadata/RBD:object_size'
        self.refused(400, 'the exact spelling is', 'DELETE', path)

    def test_cache_mode_changes(self) -> None:
        for mode in ('writeback', 'none'):
            meta = {'rbd:cache_mode': mode}
            self.ok('POST', self.path, {'metadata': meta})
        self.ok(
            'PUT', self.path, {'metadata': {**self.there, **meta, 'a': 'c'}}
        )
        self.ok('DELETE', f'{self.path}/rbd:cache_mode')

    def _warning(self, method: str, path: str, body: Any = None) -> str | None:
        response = self.call(method, path, body)
        self.assertLess(response.status_int, 300, response.text)
        warning: str | None = response.headers.get('Warning')
        return warning

    def _accepted(self, volume: Any) -> str | None:
        recorded = record.items_of(volume.id)
        return recorded.get(f'{image_record.RECORD_ACCEPTED}cache_mode')

    def test_changes_leave_the_mark_that_the_driver_requires(self) -> None:
        volume = self.volume()
        path = f'/volumes/{volume.id}'
        for method, where, name, mode in (
            ('POST', f'{path}/metadata', 'metadata', 'none'),
            ('PUT', f'{path}/metadata', 'metadata', 'writeback'),
            ('PUT', f'{path}/metadata/rbd:cache_mode', 'meta', 'none'),
        ):
            body = {name: {'rbd:cache_mode': mode}}
            self.ok(method, where, body)
            self.assertEqual(mode, self._accepted(volume))
        metadata = {'rbd:cache_mode': 'writeback'}
        self.ok('PUT', path, {'volume': {'metadata': metadata}})
        self.assertEqual('writeback', self._accepted(volume))

    def test_metadata_is_replaced_only_if_it_is_as_it_was_read(self) -> None:
        """Forms of Horizon and the client remove keys in this way."""
        volume = self.volume({'rbd:cache_mode': 'none', 'a': 'b'})
        path = f'/volumes/{volume.id}/metadata'
        # Cinder has Etags from this version on.
        how: dict[str, Any] = {'version': '3.15'}
        etag = self.call('GET', path, **how).headers['Etag']
        how['headers'] = {'If-Match': etag}
        for mode, status in (('writeback', 200), ('none', 412)):
            body = {'metadata': {'rbd:cache_mode': mode}}
            response = self.call('PUT', path, body, **how)
            self.assertEqual(status, response.status_int)
            self.assertEqual('writeback', self._accepted(volume))
        self.assertEqual(
            {'rbd:cache_mode': 'writeback'}, self.ok('GET', path)['metadata']
        )

    def test_refused_change_leaves_no_mark(self) -> None:
        volume = self.volume()
        body = {'metadata': {'rbd:cache_mode': 'none'}}
        path = f'/volumes/{volume.id}/metadata'
        self.enforce_new_defaults()
        response = self.call('POST', path, body, app=self.reader)
        self.assertEqual(403, response.status_int)
        self.assertIsNone(self._accepted(volume))

    def test_removed_key_loses_its_mark(self) -> None:
        mode = {'rbd:cache_mode': 'none'}
        volume = self.volume()
        path = f'/volumes/{volume.id}/metadata'
        for method, where, body in (
            ('DELETE', f'{path}/rbd:cache_mode', None),
            ('PUT', path, {'metadata': {}}),
        ):
            self.ok('POST', path, {'metadata': mode})
            self.assertEqual('none', self._accepted(volume))
            self.ok(method, where, body)
            self.assertIsNone(self._accepted(volume))

    def test_value_that_was_checked_for_another_type_gets_no_mark(
        self,
    ) -> None:
        """The volume was retyped between the check and the change."""
        volume = self.volume()
        outcome = metadata.Outcome(
            accepted={'rbd:cache_mode': 'none'}, type_id='former'
        )
        known = restrictions.Restrictions(
            pools.ReportedPools(), known_types.KnownTypes()
        )
        req = mock.Mock(environ={'cinder.context': self.admin_context})
        request = api_call.ApiCall(req, {}, {'id': volume.id}, '', '', known)
        for type_id in ('former', volume.volume_type_id):
            self.assertIsNone(self._accepted(volume))
            metadata.complete(
                request, dataclasses.replace(outcome, type_id=type_id), {}
            )
        self.assertEqual('none', self._accepted(volume))

    def test_value_that_is_sent_again_was_not_checked_and_gets_no_mark(
        self,
    ) -> None:
        """It can be from a time, or an API node, without the extension."""
        volume = self.volume({'rbd:cache_mode': 'none'})
        path = f'/volumes/{volume.id}/metadata'
        self.ok('PUT', path, {'metadata': {'rbd:cache_mode': 'none'}})
        self.assertIsNone(self._accepted(volume))

    def test_attachments_keep_what_they_were_made_with(self) -> None:
        """Only a request that changes the mode returns a warning."""
        meta = {'rbd:cache_mode': 'writeback'}
        added = ('POST', self.path, {'metadata': meta})
        self.assertIsNone(self._warning(*added))
        self.ok('DELETE', f'{self.path}/rbd:cache_mode')
        for status in ('attached', 'reserved'):
            self.add_attachment(self.id, status)
        rest = dict(self.there)
        for request in (
            added,
            ('PUT', self.path, {'metadata': rest}),
            ('PUT', f'{self.path}/rbd:cache_mode', {'meta': meta}),
            ('PUT', self.path, {'metadata': rest}),
            (
                'PUT',
                f'/volumes/{self.id}',
                {'volume': {'metadata': {**rest, **meta}}},
            ),
        ):
            self.assertEqual(
                '299 - "rbd:cache_mode takes effect at the next attachment; '
                'existing attachments (1) keep their mode"',
                self._warning(*request),
            )
        # An unchanged mode, and a change of another key.
        self.assertIsNone(self._warning(*added))
        other = {'metadata': {'a': 'c'}}
        self.assertIsNone(self._warning('POST', self.path, other))

    def test_cache_modes_that_are_refused(self) -> None:
        for volume_type, mode, words in (
            ('rbd', 'fast', 'not a cache mode'),
            ('rbd', 'unsafe', 'not allowed by this back end'),
            ('rbd2', 'directsync', 'none, writeback'),
            ('shared', 'writeback', 'multi-attach'),
            ('striped', 'none', 'tenants may not set this key'),
            ('fake', 'none', 'no back end of the volume type'),
        ):
            host = 'rbd' if volume_type in ('shared', 'striped') else None
            volume = self.volume(
                volume_type=volume_type, host=f'host@{host}#{host}'
            )
            path = f'/volumes/{volume.id}/metadata'
            body = {'metadata': {'rbd:cache_mode': mode}}
            self.refused(400, words, 'POST', path, body)

    def test_the_back_end_that_holds_the_volume_decides(self) -> None:
        volume = self.volume(volume_type='both', host='host@rbd#rbd')
        body = {'metadata': {'rbd:cache_mode': 'directsync'}}
        self.ok('POST', f'/volumes/{volume.id}/metadata', body)

    def test_back_end_that_is_down(self) -> None:
        volume = self.volume(volume_type='nowhere')
        body = {'metadata': {'rbd:cache_mode': 'none'}}
        path = f'/volumes/{volume.id}/metadata'
        self.refused(503, 'not reported', 'POST', path, body)

    def test_metadata_of_others(self) -> None:
        self.ok('POST', self.path, {'metadata': {'a': 'c'}})
        self.ok('PUT', f'{self.path}/a', {'meta': {'a': 'd'}})
        self.ok('DELETE', f'{self.path}/a')
        self.get_pools.assert_not_called()

    def test_quotes_in_a_key_do_not_end_the_warning(self) -> None:
        headers: dict[str, str] = {}
        refusals.tell(headers, 'unknown key "rbd:x"')
        self.assertEqual('299 - "unknown key \'rbd:x\'"', headers['Warning'])


class ImageConfigurationTest(base.ApiTestCase):
    """Changes that the driver applies to the image at once."""

    def setUp(self) -> None:
        super().setUp()
        self.called: list[str] = []
        self.applies = True
        self.limits: dict[str, Any] = {}
        self.useFixture(
            fixtures.MockPatchObject(
                rpcapi.VolumeAPI, 'remove_export', self._remove_export
            )
        )
        self.id = self.volume(made=base.MADE).id

    def _remove_export(
        self, context: Any, volume: Any, sync: bool = False
    ) -> None:
        self.called.append(volume.id)
        hint = volume.metadata.get(keys.COMPRESSION_HINT)
        if self.applies:
            values = {keys.COMPRESSION_HINT: hint} if hint else self.limits
            record.write(volume.id, *volume_items.configured(values))

    def _warning(self, method: str, path: str, body: Any) -> str | None:
        response = self.call(method, f'/volumes/{self.id}{path}', body)
        self.assertEqual(200, response.status_int, response.text)
        warning: str | None = response.headers.get('Warning')
        return warning

    def test_each_request_makes_the_driver_configure_the_image(self) -> None:
        key = keys.COMPRESSION_HINT
        requests: Any = (
            ('POST', '/metadata', {'metadata': {key: 'none'}}),
            ('PUT', f'/metadata/{key}', {'meta': {key: 'compressible'}}),
            ('PUT', '/metadata', {'metadata': {key: 'none'}}),
            ('PUT', '', {'volume': {'metadata': {key: 'compressible'}}}),
            ('PUT', '/metadata', {'metadata': {}}),
        )
        for number, request in enumerate(requests, 1):
            self.assertIsNone(self._warning(*request))
            self.assertEqual([self.id] * number, self.called)
        self._warning(*requests[0])
        self.ok('DELETE', f'/volumes/{self.id}/metadata/{key}')
        self.assertEqual([self.id] * (len(requests) + 2), self.called)

    def test_other_keys_do_not_call_the_driver(self) -> None:
        body = {'metadata': {'a': 'b', 'rbd:cache_mode': 'none'}}
        self._warning('POST', '/metadata', body)
        self.assertEqual([], self.called)

    def test_driver_of_another_back_end_is_never_called(self) -> None:
        """It would remove the export of a volume that is in use."""
        metadata = {keys.COMPRESSION_HINT: 'none'}
        other = self.volume(metadata, volume_type='fake')
        path = f'/volumes/{other.id}/metadata'
        self.ok('DELETE', f'{path}/{keys.COMPRESSION_HINT}')
        self.assertEqual([], self.called)

    def test_change_that_is_not_in_force_is_told_and_can_be_repeated(
        self,
    ) -> None:
        self.applies = False
        body = {'metadata': {keys.COMPRESSION_HINT: 'compressible'}}
        self.assertIn(
            'not in force yet',
            str(self._warning('POST', '/metadata', body)),
        )
        self.applies = True
        self.assertIsNone(self._warning('POST', '/metadata', body))

    def test_driver_is_not_called_while_the_image_is_replaced(self) -> None:
        volume = objects.Volume.get_by_id(context.get_admin_context(), self.id)
        for status in ('reverting', 'downloading'):
            volume.status = status
            volume.save()
            body = {'metadata': {keys.COMPRESSION_HINT: 'none'}}
            warning = self._warning('POST', '/metadata', body)
            self.assertIn('not in force yet', str(warning))
        self.assertEqual([], self.called)

    def test_removed_key_is_told_of_if_the_back_end_is_unknown(self) -> None:
        key = keys.COMPRESSION_HINT
        self._warning('POST', '/metadata', {'metadata': {key: 'none'}})
        self.useFixture(
            fixtures.MockPatchObject(
                pools.ReportedPools,
                'holding',
                autospec=True,
                return_value=None,
            )
        )
        response = self.call('DELETE', f'/volumes/{self.id}/metadata/{key}')
        self.assertEqual(200, response.status_int, response.text)
        self.assertIn('not in force yet', response.headers['Warning'])

    def test_invalid_value_is_refused(self) -> None:
        body = {'metadata': {keys.COMPRESSION_HINT: 'huge'}}
        self.refused(
            400,
            ('not a compression hint', 'none, compressible, incompressible'),
            *('POST', f'/volumes/{self.id}/metadata', body),
        )
        self.assertEqual([], self.called)

    def test_limits_that_contradict_each_other_are_refused(self) -> None:
        self.set_specs(
            'rbd', rbd__iops_limit='100', rbd__iops_limit_maximum='500'
        )
        for items, reason in (
            ({'rbd:iops_burst': '50'}, 'less than rbd:iops_limit = 100'),
            ({'rbd:iops_limit': '501'}, 'more than the volume type allows'),
            ({'rbd:bps_burst': '1M'}, 'set without rbd:bps_limit'),
            ({'rbd:iops_limit_maximum': '9'}, 'not a key of volume metadata'),
        ):
            body = {'metadata': items}
            path = f'/volumes/{self.id}/metadata'
            self.refused(400, reason, 'POST', path, body)
            self.refused(400, reason, 'POST', '/volumes', self.create(items))
        self.assertEqual([], self.called)
        self.ok('POST', path, {'metadata': {'rbd:iops_limit': '500'}})
        self.assertEqual([self.id], self.called)

    def test_removal_that_makes_another_key_invalid_is_told(self) -> None:
        """It is not refused: clients remove one key after the other."""
        metadata = {
            'rbd:iops_limit': '100',
            'rbd:iops_burst': '300',
            'rbd:write_bps_limit': '1M',
        }
        self.limits = {
            'rbd:iops_limit': 100,
            'rbd:iops_burst': 300,
            'rbd:write_bps_limit': 1 << 20,
        }
        path = f'/volumes/{self.id}/metadata'
        self.assertIsNone(
            self._warning('POST', '/metadata', {'metadata': metadata})
        )
        self.limits = {'rbd:write_bps_limit': 1 << 20}
        answer = self.call('DELETE', f'{path}/rbd:iops_limit')
        self.assertEqual(
            '299 - "keys of the volume are ignored, correct or remove them: '
            'rbd:iops_burst (set without rbd:iops_limit)"',
            answer.headers.get('Warning'),
        )
        answer = self.call('DELETE', f'{path}/rbd:iops_burst')
        self.assertNotIn('Warning', answer.headers)

    def test_administrator_without_items_asks_the_driver(self) -> None:
        """The last report of the driver may be older than its settings."""
        self.limits = {'rbd:iops_limit': 100}
        body: Any = {'metadata': {}}
        request = 'POST', f'/volumes/{self.id}/metadata', body
        answer = self.call(*request)
        # Other requests of tenants must not wait for the driver.
        self.assertEqual([], self.called)
        self.assertNotIn(published.HEADER_COMPARED, answer.headers)
        answer = self.call(*request, app=self.make_app('admin'))
        self.assertEqual([self.id], self.called)
        self.assertNotIn('Warning', answer.headers)
        self.assertIn(published.HEADER_COMPARED, answer.headers)

    def test_request_without_items_compares_an_image_with_its_record(
        self,
    ) -> None:
        """An operator can have removed the entries of the image."""
        self.set_specs('rbd', rbd__iops_limit='100')
        volume = self.volume()
        values = {'rbd:iops_limit': 100}
        record.write(volume.id, *volume_items.configured(values))
        self.applies = False
        body: Any = {'metadata': {}}
        request = 'POST', f'/volumes/{volume.id}/metadata', body
        answer = self.call(*request, app=self.make_app('admin'))
        self.assertEqual([volume.id], self.called)
        self.assertIn('not in force yet', answer.headers['Warning'])
        self.assertNotIn(published.HEADER_COMPARED, answer.headers)
        # The driver then compares the image and not only the record.
        self.assertEqual(
            'iops', record.items_of(volume.id)[volume_items.RECORD_CONFIGURING]
        )

    def test_request_without_items_says_that_another_driver_did_nothing(
        self,
    ) -> None:
        volume = self.volume(volume_type='fake')
        body: Any = {'metadata': {}}
        request = 'POST', f'/volumes/{volume.id}/metadata', body
        answer = self.call(*request, app=self.make_app('admin'))
        self.assertNotIn(published.HEADER_COMPARED, answer.headers)
        self.assertIn('not in force yet', answer.headers['Warning'])
        self.assertEqual([], self.called)

    def test_driver_whose_report_cannot_be_read_did_nothing(self) -> None:
        self.useFixture(
            fixtures.MockPatchObject(
                pools.ReportedPools,
                'holding',
                autospec=True,
                return_value=pools.Pool(
                    'host@rbd#rbd', {backend_settings.CAPABILITY: True}, None
                ),
            )
        )
        key = keys.COMPRESSION_HINT
        path = f'/volumes/{self.volume({key: "none"}).id}/metadata/{key}'
        response = self.call('DELETE', path)
        self.assertEqual(200, response.status_int, response.text)
        self.assertIn('not in force yet', response.headers['Warning'])
        self.assertEqual([], self.called)


class ReplacedTest(base.ApiTestCase):
    """Volumes in an operation that may change their keys."""

    def test_keys_of_a_volume_that_is_retyped(self) -> None:
        meta = {'rbd:cache_mode': 'none', 'a': 'b'}
        volume = self.volume(meta, status='retyping').id
        path = f'/volumes/{volume}/metadata'
        for method, where, body in (
            ('POST', path, {'metadata': {'rbd:cache_mode': 'writeback'}}),
            # What was there before the retype, as a client would send it.
            ('PUT', path, {'metadata': meta}),
            ('PUT', path, {'metadata': {}}),
            ('PUT', f'/volumes/{volume}', {'volume': {'metadata': meta}}),
            ('DELETE', f'{path}/rbd:cache_mode', None),
        ):
            self.refused(400, 'is being retyped', method, where, body)
        self.ok('POST', path, {'metadata': {'a': 'c'}})

    def test_keys_that_a_restore_or_a_migration_would_replace(self) -> None:
        moments: list[tuple[str, dict[str, Any]]] = [
            ('is being restored', {'status': 'restoring-backup'}),
            ('is being migrated', {'migration_status': 'migrating'}),
        ]
        for text, values in moments:
            volume = self.volume({'a': 'b'}, **values).id
            path = f'/volumes/{volume}/metadata'
            body = {'metadata': {'rbd:cache_mode': 'none'}}
            self.refused(400, text, 'POST', path, body)
            self.ok('POST', path, {'metadata': {'a': 'c'}})

    def test_upload_does_not_become_slow_while_it_runs(self) -> None:
        """Of all requests, Cinder refuses only this one not itself."""
        path = f'/volumes/{self.volume(status="uploading").id}'
        body = {'volume': {'metadata': {'rbd:bps_limit': '1M'}}}
        self.refused(400, 'is being uploaded', 'PUT', path, body)
        self.ok('PUT', path, {'volume': {'metadata': {'a': 'b'}}})

    def test_backup_does_not_become_slow_while_it_runs(self) -> None:
        body = {'metadata': {'rbd:bps_limit': '1M'}}
        free, used = (
            f'/volumes/{volume.id}/metadata'
            for volume in (
                self.volume(status='backing-up', previous_status='available'),
                self.volume(status='backing-up', previous_status='in-use'),
            )
        )
        self.refused(400, 'is being backed up', 'POST', free, body)
        self.ok('POST', used, body)

    def test_other_metadata_of_a_volume_that_is_retyped(self) -> None:
        volume = self.volume({'a': 'b'}, status='retyping').id
        self.ok('PUT', f'/volumes/{volume}/metadata', {'metadata': {}})
