# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any

import oslo_messaging

from rbd_volume_options import errors
from rbd_volume_options import layout
from tests import option_values
from tests.unit.cinder_rbd_ext.api import base

_VOLUMES = '/volumes'
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
