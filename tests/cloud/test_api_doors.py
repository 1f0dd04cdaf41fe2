# SPDX-License-Identifier: Apache-2.0

"""API requests that could bypass the checks, on real Cinder and MariaDB.

Each request is refused at once and leaves nothing in an error status.
"""

from typing import Any

from tests.cloud import base

_PAIR = {'rbd:stripe_unit': '1M', 'rbd:stripe_count': '3'}
_EXACT = 'the exact spelling is rbd:stripe_count'


class SpellingTest(base.CloudTestCase):
    """MariaDB compares names case-insensitively, and so do the checks."""

    def test_misspelled_keys_are_refused_in_metadata(self) -> None:
        volume = self.created(metadata=base.ASKED)
        path = f'/volumes/{volume}/metadata'
        for key in ('RBD:stripe_count', 'rbd:Stripe_Count'):
            meta = {key: '8'}
            for method, where, body in (
                ('POST', path, {'metadata': meta}),
                ('PUT', path, {'metadata': {**base.ASKED, **meta}}),
                ('PUT', f'{path}/{key}', {'meta': meta}),
                ('DELETE', f'{path}/{key}', None),
                (
                    'PUT',
                    f'/volumes/{volume}',
                    {'volume': {'metadata': {**base.ASKED, **meta}}},
                ),
            ):
                self.check_refused(400, _EXACT, method, where, body)
        self.assertEqual(base.ASKED, self.metadata(volume))

    def test_misspelled_keys_are_refused_at_creation(self) -> None:
        metadata = {'rbd:stripe_unit': '64K', 'RBD:stripe_count': '8'}
        body = {
            'volume': {'size': 1, 'volume_type': 'rbd', 'metadata': metadata}
        }
        self.check_refused(400, _EXACT, 'POST', '/volumes', body)

    def test_snapshots_and_image_metadata(self) -> None:
        volume = self.created()
        snapshot = self.snapshot(volume)
        for key in ('RBD:stripe_count', 'rbd:stripe_count'):
            body: Any = {
                'snapshot': {'volume_id': volume, 'metadata': {key: '8'}}
            }
            words = 'not allowed in snapshot metadata'
            self.check_refused(400, words, 'POST', '/snapshots', body)
            body = {'metadata': {key: '8'}}
            path = f'/snapshots/{snapshot}/metadata'
            self.check_refused(400, words, 'POST', path, body)
        body = {'os-set_image_metadata': {'metadata': {'RBD:x': '\x1b[2J'}}}
        path = f'/volumes/{volume}/action'
        words = 'not allowed in image metadata'
        self.check_refused(400, words, 'POST', path, body)


class TypesTest(base.CloudTestCase):
    """Extra specs of volume types, and who may read them."""

    def _id(self, name: str) -> str:
        path = '/types?is_public=None'
        answer = self.request('GET', path, cloud=self.operator)
        (ident,) = (
            each['id']
            for each in answer['volume_types']
            if each['name'] == name
        )
        return str(ident)

    def _specs(self, ident: str) -> base.Record:
        path = f'/types/{ident}/extra_specs'
        specs: base.Record = self.request('GET', path, cloud=self.operator)
        return specs

    def test_deletion_of_one_of_a_pair(self) -> None:
        ident = self._id(
            self.make_type(rbd_stripe_unit='64K', rbd_stripe_count='8')
        )
        before = self._specs(ident)
        for key, words in (
            ('rbd:stripe_unit', 'set without rbd:stripe_unit'),
            ('rbd:stripe_count', 'set without rbd:stripe_count'),
            ('RBD:stripe_count', _EXACT),
        ):
            path = f'/types/{ident}/extra_specs/{key}'
            self.check_refused(400, words, 'DELETE', path, None, self.operator)
        self.assertEqual(before, self._specs(ident))

    def test_null_is_refused_in_extra_specs(self) -> None:
        ident = self._id(self.make_type())
        path = f'/types/{ident}/extra_specs'
        body = {'extra_specs': {'rbd:stripe_count': None}}
        self.check_refused(400, 'null', 'POST', path, body, self.operator)

    def test_layout_that_does_not_suit_a_size(self) -> None:
        name = self.make_type(rbd_stripe_unit='1M', rbd_stripe_count='3')
        body: Any = {'volume': {'size': 1, 'volume_type': name}}
        words = '1 GiB is not a multiple of 1 MiB x 3'
        self.check_refused(400, words, 'POST', '/volumes', body)
        volume = self.created(size=3, volume_type=name)
        self._check_extend(volume)

    def _check_extend(self, volume: str) -> None:
        path, body = (
            f'/volumes/{volume}/action',
            {'os-extend': {'new_size': 4}},
        )
        words = '4 GiB is not a multiple of 1 MiB x 3'
        before = self.show(volume)['status']
        self.check_refused(400, words, 'POST', path, body)
        shown = self.show(volume)
        self.assertEqual((before, 3), (shown['status'], shown['size']))

    def test_size_without_whole_stripes_is_refused(self) -> None:
        volume = self.created(size=3, metadata=_PAIR)
        self._check_extend(volume)
        self._attach(volume)
        self._check_extend(volume)

    def _attach(self, volume: str) -> None:
        """Attach a volume without a server, so that Nova is not queried."""
        body = {
            'attachment': {
                'volume_uuid': volume,
                'connector': {'host': 'h', 'ip': '::1'},
            }
        }
        made = self.request('POST', '/attachments', body, self.operator)
        path = f'/attachments/{made["attachment"]["id"]}'
        self.addCleanup(self.request, 'DELETE', path, None, self.operator)
        self.request(
            'POST', f'{path}/action', {'os-complete': {}}, self.operator
        )
        self.wait_for(volume, 'in-use')

    def test_private_type(self) -> None:
        specs = {
            'volume_backend_name': 'rbd',
            'rbd:object_size': '32M',
            'rbd:tenant_options': '',
        }
        body: Any = {
            'volume_type': {
                'name': 'test-private',
                'extra_specs': specs,
                'os-volume-type-access:is_public': False,
            }
        }
        made = self.request('POST', '/types', body, self.operator)
        ident = made['volume_type']['id']
        self.addCleanup(self.operator.block_storage.delete, f'/types/{ident}')
        volume = self.created(metadata=base.ASKED)
        for name, words in (
            ('test-private', 'Volume type with name test-private'),
            (ident, f'Volume type {ident}'),
        ):
            words += ' could not be found'
            body = {
                'volume': {
                    'size': 1,
                    'volume_type': name,
                    'metadata': {'rbd:object_size': '1M'},
                }
            }
            self.check_refused(404, words, 'POST', '/volumes', body)
            body = {'os-retype': {'new_type': name}}
            path = f'/volumes/{volume}/action'
            self.check_refused(404, words, 'POST', path, body)


class ManageTest(base.CloudTestCase):
    """An operator manages an existing RBD image."""

    def test_contradicting_keys_are_refused_when_managing(self) -> None:
        volume = self.created(volume_type='rbd2')
        shown = self.show(volume)
        self.action(volume, self.operator, **{'os-unmanage': {}})
        self.until(lambda: self._gone(volume))
        size = shown['os-rbd-volume-options:object_size']
        values = {
            'host': shown['os-vol-host-attr:host'],
            'ref': {'source-name': f'volume-{volume}'},
            'volume_type': 'rbd2',
        }
        for metadata, words in (
            ({'rbd:stripes': '1'}, 'unknown key'),
            ({'rbd:stripe_unit': '64K'}, 'set without'),
        ):
            body = {'volume': {**values, 'metadata': metadata}}
            for path in ('/os-volume-manage', '/manageable_volumes'):
                self.check_refused(
                    400, words, 'POST', path, body, self.operator
                )
        # Tenants may not set this key on volumes of this type.
        body = {
            'volume': {**values, 'metadata': {'rbd:object_size': str(size)}}
        }
        made = self.request('POST', '/os-volume-manage', body, self.operator)
        ident = made['volume']['id']
        self.addCleanup(self.remove, ident)
        self.wait_for(ident)

    def _gone(self, volume: str) -> bool:
        path = f'/volumes/{volume}'
        return bool(
            self.respond('GET', path, cloud=self.operator).status_code == 404
        )


class PoolsTest(base.CloudTestCase):
    """Only administrators see the names of Ceph pools."""

    def test_names_of_pools_are_for_operators(self) -> None:
        volume = self.created(volume_type='rbd2')
        key = 'os-rbd-volume-options:data_pool'
        self.assertEqual('volumes-data', self.show(volume)[key])
        shown = self.request('GET', f'/volumes/{volume}')['volume']
        self.assertIsNone(shown[key])
        for cloud, name in (
            (self.operator, 'volumes-data'),
            (self.tenant, None),
        ):
            path = '/os-rbd-volume-options/rbd2'
            told = self.request('GET', path, cloud=cloud)['volume_type']
            self.assertEqual(name, told['options']['rbd:data_pool']['default'])
