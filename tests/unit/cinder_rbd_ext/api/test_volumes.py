# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any
from unittest import mock

from cinder.volume import rpcapi
import oslo_messaging

from cinder_rbd_ext import record
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import layout
from tests import option_values
from tests.unit.cinder_rbd_ext.api import base

_VOLUMES = '/volumes'
_RETYPE = 'cinder.volume.api.API.retype'
# Python does not print longer numbers, such as this size in bytes.
_HUGE = int('9' * 4300)


class CreateTest(base.ApiTestCase):
    """Tests for POST volumes."""

    ACCEPTED: tuple[Any, ...] = (
        ({'rbd:object_size': '4M'}, {}),
        ({'rbd:stripe_unit': '64K', 'rbd:stripe_count': '64'}, {}),
        ({'rbd:object_map': 'true', 'colour': 'blue'}, {'size': 4}),
        ({'rbd:cache_mode': 'writeback'}, {'volume_type': 'rbd2'}),
        ({'rbd:cache_mode': 'writeback'}, {'volume_type': 'both'}),
        ({'rbd:cache_mode': 'none'}, {'volume_type': 'shared'}),
        ({'rbd:object_map': 'false'}, {'volume_type': None}),
        ({'colour': 'blue'}, {'volume_type': 'fake'}),
        ({}, {'volume_type': 'nowhere'}),
        (None, {}),
    )

    def test_accepted_metadata_is_stored_as_requested(self) -> None:
        for metadata, values in self.ACCEPTED:
            answer = self.ok('POST', _VOLUMES, self.create(metadata, **values))
            self.assertEqual(metadata or {}, answer['volume']['metadata'])

    def test_forgotten_prefix_is_told_and_stored(self) -> None:
        """In a header, and in a user message for who reads none."""
        told = (
            'features, stripe_unit has no effect without the prefix rbd:. Use '
            'rbd:features, rbd:stripe_unit'
        )
        metadata = {'stripe_unit': '64K', 'features': 'x', 'colour': 'blue'}
        request = self.create(metadata)
        response = self.call('POST', _VOLUMES, request)
        self.assertEqual(202, response.status_int, response.text)
        self.assertEqual(f'299 - "{told}"', response.headers['Warning'])
        (message,) = self.ok('GET', '/messages')['messages']
        self.assertEqual(told, message['user_message'])
        self.assertEqual('WARNING', message['message_level'])
        ident = response.json['volume']['id']
        for own, is_told in (({'iops_limit': '5'}, True), ({'a': 'b'}, False)):
            response = self.call(
                'POST', f'{_VOLUMES}/{ident}/metadata', {'metadata': own}
            )
            self.assertEqual(200, response.status_int, response.text)
            self.assertIs(is_told, 'Warning' in response.headers)

    def test_words_of_other_drivers_are_not_ours(self) -> None:
        request = self.create({'features': 'x'}, volume_type='fake')
        response = self.call('POST', _VOLUMES, request)
        self.assertEqual(202, response.status_int, response.text)
        self.assertNotIn('Warning', response.headers)
        response = self.call(
            'POST',
            f'{_VOLUMES}/{self.volume(volume_type="fake").id}/metadata',
            {'metadata': {'features': 'x'}},
        )
        self.assertEqual(200, response.status_int, response.text)
        self.assertNotIn('Warning', response.headers)

    REFUSED: tuple[Any, ...] = (
        ({'rbd:stripes': '8'}, {}, ('rbd:stripes', 'unknown key')),
        (
            {'rbd:object_size': '3M'},
            {},
            ("rbd:object_size = '3M'", 'a power of two from 4 KiB to 32 MiB'),
        ),
        ({'rbd:data_pool': 'ec'}, {}, 'not a key of volume metadata'),
        ({'rbd:stripe_unit': '64K'}, {}, 'set without rbd:stripe_count'),
        (
            {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '65'},
            {},
            '1 to 64',
        ),
        (
            {'rbd:stripe_unit': '8M', 'rbd:stripe_count': '1'},
            {},
            'not a factor of the object size, 4 MiB',
        ),
        (
            {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '3'},
            {},
            '1 GiB is not a multiple of 64 KiB x 3',
        ),
        (
            {'rbd:object_size': '4K', 'rbd:object_map': 'true'},
            {'size': 2048},
            '256,000,000',
        ),
        ({'rbd:object_map': 'true'}, {'volume_type': 'shared'}, 'multi-att'),
        (
            {'rbd:object_size': '4M'},
            {'volume_type': 'rbd2'},
            (
                "rbd:object_size = '4M'",
                'tenants may not set this key',
                'rbd:stripe_unit, rbd:cache_mode',
            ),
        ),
        (
            {'rbd:cache_mode': 'directsync'},
            {'volume_type': 'rbd2'},
            'none, writeback',
        ),
        (
            {'rbd:cache_mode': 'directsync'},
            {'volume_type': 'both'},
            'none, writeback',
        ),
        (
            {'rbd:cache_mode': 'none'},
            {'volume_type': 'fake'},
            'no back end of the volume type supports',
        ),
        ({'rbd:cache_mode': 'none'}, {'volume_type': 'any'}, 'do not support'),
        ({'rbd:cache_mode': 'unsafe'}, {}, "rbd:cache_mode = 'unsafe'"),
        (
            {'rbd:object_size': '4M'},
            {'volume_type': 'striped'},
            'rbd:object_map',
        ),
    )

    def test_invalid_request_creates_no_volume(self) -> None:
        for metadata, values, words in self.REFUSED:
            body = self.create(metadata, **values)
            self.refused(400, words, 'POST', _VOLUMES, body)
            self.assertEqual(0, self.volumes())

    def test_every_microversion_checks_metadata(self) -> None:
        for version in (
            '3.0',
            '3.12',
            '3.13',
            '3.46',
            '3.47',
            '3.52',
            '3.53',
            '3.71',
        ):
            self._check_version(version)

    def _check_version(self, version: str) -> None:
        bad, good = {'rbd:object_size': '3M'}, {'rbd:object_size': '1M'}
        self.refused(
            400,
            'a power of two',
            'POST',
            _VOLUMES,
            self.create(bad),
            version=version,
        )
        self.ok('POST', _VOLUMES, self.create(good), version=version)

    def test_type_without_a_back_end(self) -> None:
        body = self.create({'rbd:object_size': '1M'}, volume_type='nowhere')
        self.refused(503, 'has reported', 'POST', _VOLUMES, body)

    def test_without_keys_nothing_depends_on_the_scheduler(self) -> None:
        self.get_pools.side_effect = oslo_messaging.MessagingTimeout()
        self.ok('POST', _VOLUMES, self.create({'colour': 'blue'}))
        self.ok('POST', _VOLUMES, self.create(volume_type='striped'))
        self.assertEqual(1, self.get_pools.call_count)

    def test_layout_of_the_type_alone(self) -> None:
        self.set_specs('striped', rbd__stripe_unit='1M', rbd__stripe_count='3')
        words = ('1 GiB is not a multiple of 1 MiB x 3', 'volume type')
        source = self.volume(None, base.MADE, volume_type='striped')
        for values in (
            {'volume_type': 'striped'},
            {'volume_type': self.types['striped']},
            {'volume_type': 'striped', 'source_volid': source.id},
            {'volume_type': None, 'source_volid': source.id, 'size': None},
        ):
            for metadata in (None, {'colour': 'blue'}):
                body = self.create(metadata, **values)
                self.refused(400, words, 'POST', _VOLUMES, body)
        body = self.create(volume_type='striped', size=3)
        self.ok('POST', _VOLUMES, body)

    def test_layout_of_the_back_end_alone(self) -> None:
        striped = base.settings(
            option_values.level(
                errors.Origin.BACKEND, striping=layout.Striping(base.MIB, 3)
            )
        )
        self.get_pools.return_value = [base.pool('rbd', striped)]
        words = '1 GiB is not a multiple of 1 MiB x 3'
        self.refused(400, words, 'POST', _VOLUMES, self.create())
        self.refused(
            400, words, 'POST', _VOLUMES, self.create(volume_type=None)
        )

    def test_another_back_end_of_the_type_can_make_it(self) -> None:
        striped = base.settings(
            option_values.level(
                errors.Origin.BACKEND, striping=layout.Striping(base.MIB, 3)
            )
        )
        plain = base.pool('other', base.settings())
        self.get_pools.return_value = [base.pool('rbd', striped), plain]
        self.ok('POST', _VOLUMES, self.create(volume_type='both'))

    def test_striping_of_cephs_configuration_is_not_restricted(self) -> None:
        settings = dataclasses.replace(
            base.settings(), ceph_striping=layout.Striping(base.MIB, 3)
        )
        self.get_pools.return_value = [base.pool('rbd', settings)]
        self.ok('POST', _VOLUMES, self.create())

    def test_tenants_are_not_told_the_pool_of_a_type(self) -> None:
        # An API service without the extension accepts any name.
        self.set_specs('rbd', rbd__data_pool='secret/pool')
        for body in (self.create({'rbd:cache_mode': 'none'}), self.create()):
            response = self.call('POST', '/volumes', body)
            self.assertEqual(400, response.status_int)
            self.assertIn('rbd:data_pool', response.text)
            self.assertIn('not a valid pool name', response.text)
            self.assertNotIn('secret', response.text)

    def test_private_type(self) -> None:
        """The response is the same as for a type that does not exist."""
        self.add_type(
            'secret',
            {'rbd:tenant_options': '', 'rbd:features': 'x'},
            is_public=False,
        )
        body = self.create({'rbd:object_size': '1M'}, volume_type='secret')
        words = 'Volume type with name secret could not be found'
        self.refused(404, words, 'POST', _VOLUMES, body)
        body['volume']['volume_type'] = 'secre'
        words = 'Volume type with name secre could not be found'
        self.refused(404, words, 'POST', _VOLUMES, body)

    def test_keys_in_other_spellings(self) -> None:
        for key, words in (
            ('RBD:object_size', 'the exact spelling is rbd:object_size'),
            ('rbd:Object_Size', 'the exact spelling is rbd:object_size'),
            ('rbd:object_size ', 'the exact spelling is rbd:object_size'),
            ('Rbd:other', 'unknown key'),
        ):
            body = self.create({key: '1M'})
            self.refused(400, words, 'POST', _VOLUMES, body)


class RetypeTest(base.ApiTestCase):
    """Tests for POST volumes/{id}/action with os-retype."""

    def _body(self, new_type: str, policy: str | None = None) -> base.Answer:
        body = {'new_type': new_type, 'migration_policy': policy}
        return {'os-retype': {k: v for k, v in body.items() if v}}

    def _refused(
        self, volume: Any, words: Any, new_type: str, policy: str | None = None
    ) -> None:
        body = self._body(new_type, policy)
        path = f'/volumes/{volume.id}/action'
        self.refused(400, words, 'POST', path, body)

    def _accepted(
        self,
        volume: Any,
        new_type: str,
        policy: str | None = None,
        warning: str = '',
    ) -> None:
        """Check that Cinder's retype is called, and the Warning header."""
        with mock.patch(_RETYPE, autospec=True) as retype:
            body = self._body(new_type, policy)
            path = f'/volumes/{volume.id}/action'
            response = self.call('POST', path, body)
        self.assertEqual(202, response.status_int, response.text)
        retype.assert_called_once()
        told = response.headers.get('Warning', '')
        self.assertIn(warning, told)
        self.assertEqual(bool(warning), told.startswith('299 - "the retype'))
        self.assertEqual(2 * bool(warning), told.count('"'))

    def test_unknown_key_of_a_tenant_is_quoted_in_the_header(self) -> None:
        volume = self.volume({'rbd:a"b': '1'}, base.MADE)
        self._accepted(volume, 'both', None, "'rbd:a'b' (unknown key)")

    def test_to_a_back_end_that_ignores_keys(self) -> None:
        volume = self.volume({'rbd:object_size': '1M'}, base.MADE)
        self._refused(volume, 'set migration_policy to on-demand', 'fake')
        self._accepted(volume, 'fake', 'on-demand', 'rbd:object_size (the')
        self._accepted(self.volume({'colour': 'blue'}), 'fake')

    def test_layout_that_needs_a_migration(self) -> None:
        plain = {
            **base.MADE,
            'rbd:stripe_unit': '1048576',
            'rbd:stripe_count': '1',
        }
        volume = self.volume(None, plain, status='in-use')
        words = ('fixed at creation', 'the source has 1 MiB objects')
        self._refused(volume, words, 'striped')
        self._accepted(volume, 'striped', 'on-demand')
        # Ceph converts the image of a detached volume.
        self._accepted(self.volume(None, plain), 'striped')

    def test_keys_that_the_new_type_keeps_from_tenants(self) -> None:
        volume = self.volume({'rbd:object_size': '1M'}, base.MADE)
        words = 'rbd:object_size (tenants may not set this key'
        self._accepted(volume, 'rbd2', 'on-demand', words)

    def test_object_map_and_multiattach(self) -> None:
        volume = self.volume({'rbd:object_map': 'true'}, base.MADE)
        self._accepted(
            volume, 'shared', None, 'rbd:object_map (volumes of a multi-att'
        )

    def test_size_that_the_new_layout_does_not_divide(self) -> None:
        self.set_specs('striped', rbd__stripe_count='3')
        volume = self.volume(None, base.MADE)
        self._refused(volume, 'not a multiple', 'striped', 'on-demand')

    def test_unknown_type(self) -> None:
        volume = self.volume({'rbd:object_size': '1M'}, base.MADE)
        path = f'/volumes/{volume.id}/action'
        self.refused(404, 'none such', 'POST', path, self._body('none such'))

    def test_private_type(self) -> None:
        """The response is the same as for a type that does not exist."""
        ident = self.add_type(
            'secret', {'rbd:stripe_unit': '1K'}, is_public=False
        )
        volume = self.volume({'rbd:object_size': '1M'}, base.MADE)
        path = f'/volumes/{volume.id}/action'
        for name, words in (
            ('secret', 'Volume type with name secret could not be found'),
            (ident, f'Volume type {ident} could not be found'),
        ):
            self.refused(404, words, 'POST', path, self._body(name))

    def test_names_of_pools(self) -> None:
        self.set_specs('striped', rbd__data_pool='secret-pool')
        volume = self.volume(None, base.MADE, 'rbd', status='in-use')
        path = f'/volumes/{volume.id}/action'
        body = self._body('striped')
        response = self.call('POST', path, body)
        self.assertEqual(400, response.status_int)
        self.assertIn('rbd:data_pool', response.text)
        self.assertNotIn('secret-pool', response.text)
        self.refused(400, 'secret-pool', 'POST', path, body, app=self.admin)

    def test_pool_of_the_name_of_a_cluster(self) -> None:
        """Volumes contain the name of a host, pools that of the cluster."""
        plain = {
            **base.MADE,
            'rbd:stripe_unit': '1048576',
            'rbd:stripe_count': '1',
        }
        values: dict[str, Any] = {
            'host': 'one@rbd#rbd',
            'cluster_name': 'host@rbd#rbd',
        }
        own = {'rbd:cache_mode': 'none'}
        volume = self.volume(own, plain, **values)
        self._accepted(volume, 'both')
        words = 'rbd:cache_mode (tenants may not'
        self._accepted(volume, 'striped', 'on-demand', words)
        # The driver of a migration does not get it from Cinder.
        self.assertEqual(
            self.types['striped'],
            record.items_of(volume.id)[image_record.RECORD_NEW_TYPE],
        )
        used = self.volume(own, plain, status='in-use', **values)
        ways = ('detach the volume', 'on-demand')
        self._refused(used, ways, 'striped')

    def test_data_pool_of_the_former_type(self) -> None:
        pooled = {**base.TYPES['rbd'], 'rbd:data_pool': 'ec'}
        values: dict[str, Any] = {
            'volume_type_id': self.add_type('pooled', pooled),
            'made': {**base.MADE, 'rbd:data_pool': 'ec'},
        }
        self._accepted(self.volume(**values), 'rbd')
        volume = self.volume(status='in-use', **values)
        self.snapshot(volume)
        self._refused(volume, 'migration_policy to on-demand', 'rbd')
        self._refused(volume, 'delete the snapshots', 'rbd', 'on-demand')

    def test_layout_that_the_new_type_keeps_from_tenants(self) -> None:
        specs = {**base.TYPES['rbd'], 'rbd:tenant_options': ''}
        self.add_type('locked', specs)
        metadata = {k: v for k, v in base.MADE.items() if 'features' not in k}
        volume = self.volume(metadata, base.MADE)
        self._accepted(volume, 'locked', None, 'rbd:stripe_count (tenants')

    def test_where_a_volume_may_come_to(self) -> None:
        own = {'rbd:object_size': '1M'}
        volume = self.volume(own, base.MADE, host='host@elsewhere#pool')
        self._accepted(volume, 'both', 'on-demand', 'may remove')
        self._accepted(self.volume(own, volume_type='fake'), 'any')

    def test_type_without_a_back_end(self) -> None:
        volume = self.volume({'rbd:object_size': '1M'}, base.MADE)
        path = f'/volumes/{volume.id}/action'
        body = self._body('nowhere')
        self.refused(503, 'nowhere', 'POST', path, body)
        self._accepted(self.volume(), 'nowhere')


class UpdateTest(base.ApiTestCase):
    """Tests for PUT volumes/{id}, which replaces the metadata."""

    def test_fixed_key(self) -> None:
        volume = self.volume({'rbd:object_size': '1M'}, base.MADE)
        path = f'/volumes/{volume.id}'
        for metadata in ({}, {'rbd:object_size': '2M'}, {'a': 'b'}):
            body = {'volume': {'name': 'n', 'metadata': metadata}}
            self.refused(400, 'rbd:object_size', 'PUT', path, body)
        same = {'rbd:object_size': '1M', 'a': 'b'}
        self.ok('PUT', path, {'volume': {'metadata': same}})
        self.ok('PUT', path, {'volume': {'name': 'n'}})


class ImageMetadataTest(base.ApiTestCase):
    """POST volumes/{id}/action with os-set_image_metadata."""

    def test_what_looks_like_ours(self) -> None:
        path = f'/volumes/{self.volume().id}/action'
        for key in ('rbd:object_size', 'RBD:object_size', 'rbd:x'):
            items = {'os_distro': 'debian', key: '\x1b[31m'}
            body = {'os-set_image_metadata': {'metadata': items}}
            words = 'not allowed in image metadata'
            self.refused(400, words, 'POST', path, body)
        items = {'os_distro': 'debian'}
        body = {'os-set_image_metadata': {'metadata': items}}
        self.assertEqual({'metadata': items}, self.ok('POST', path, body))

    def test_too_long(self) -> None:
        """Cinder itself refuses the name."""
        path = f'/volumes/{self.volume().id}/action'
        items = {'rbd:' + 'x' * 252: 'y'}
        body = {'os-set_image_metadata': {'metadata': items}}
        response = self.call('POST', path, body)
        self.assertEqual(400, response.status_int, response.text)
        self.assertNotIn('not allowed in image', response.text)


class MigrationCompletionTest(base.ApiTestCase):
    """Tests for os-migrate_volume_completion, which Nova requests."""

    def setUp(self) -> None:
        super().setUp()
        self.completed = self.mock_object(
            rpcapi.VolumeAPI,
            'migrate_volume_completion',
            return_value='saved',
            autospec=True,
        )

    def _request(
        self, status: str, volume_type: str = 'rbd', **parameters: Any
    ) -> tuple[Any, ...]:
        """Return a request for the completion with a new volume."""
        volume = self.volume(
            volume_type=volume_type, migration_status='migrating'
        )
        target = f'target:{volume.id}'
        self.new = self.volume(status=status, migration_status=target)
        body = {'new_volume': self.new.id, **parameters}
        path = f'/volumes/{volume.id}/action'
        return 'POST', path, {'os-migrate_volume_completion': body}

    def test_copy_that_may_be_incomplete_replaces_no_volume(self) -> None:
        """Cinder would delete the source, which alone has all data."""
        for status in ('available', 'creating', 'error'):
            request = self._request(status)
            words = f'No server uses volume {self.new.id}'
            self.refused(400, words, *request, app=self.admin)
        request = self._request('attaching')
        # Nova has not copied the data yet.
        self.add_attachment(self.new.id, 'attaching')
        self.refused(400, words[:21], *request, app=self.admin)
        self.completed.assert_not_called()

    def test_volume_with_data_that_nova_has_copied_is_completed(self) -> None:
        """Also for a server that is attached since before attachments."""
        for status in ('in-use', 'attaching'):
            answer = self.ok(*self._request(status), app=self.admin)
            self.assertEqual('saved', answer['save_volume_id'])

    def test_failure_of_the_copy_is_completed(self) -> None:
        self.ok(*self._request('available', error=True), app=self.admin)

    def test_volume_of_another_driver_is_left_to_cinder(self) -> None:
        self.ok(*self._request('available', 'fake'), app=self.admin)

    def test_policy_of_cinder_applies_first(self) -> None:
        self.refused(403, 'completion', *self._request('available'))
