# SPDX-License-Identifier: Apache-2.0

"""RBD images that are brought under management."""

from typing import Any
from unittest import mock

from cinder import context as cinder_context
from cinder import objects

from tests.unit.cinder_rbd_ext.api import base

_PATHS = ('/os-volume-manage', '/manageable_volumes')


class ManageTest(base.ApiTestCase):
    """Tests for POST os-volume-manage and manageable_volumes."""

    def _body(
        self, metadata: Any, name: str = 'rbd', **values: Any
    ) -> base.Answer:
        volume = {
            'host': f'host@{name}#{name}',
            'ref': {'source-name': 'image'},
            'volume_type': name,
            'metadata': metadata,
            **values,
        }
        return {'volume': {k: v for k, v in volume.items() if v is not None}}

    def _refused(self, words: Any, body: Any) -> None:
        for path in _PATHS:
            self.refused(400, words, 'POST', path, body, app=self.admin)

    def _accepted(self, body: Any) -> None:
        """Check that Cinder's method is called."""
        manage = 'cinder.volume.api.API.manage_existing'
        for path in _PATHS:
            with mock.patch(
                manage, autospec=True, return_value=self.volume()
            ) as method:
                self.ok('POST', path, body, app=self.admin)
            method.assert_called_once()

    def test_invalid_metadata_is_refused(self) -> None:
        for metadata, name, words in (
            ({'rbd:stripes': '8'}, 'rbd', 'unknown key'),
            ({'RBD:object_size': '1M'}, 'rbd', 'the exact spelling is'),
            ({'rbd:data_pool': 'ec'}, 'rbd', 'not a key of volume metadata'),
            ({'rbd:object_size': '3M'}, 'rbd', 'a power of two'),
            ({'rbd:stripe_unit': '64K'}, 'rbd', 'set without'),
            ({'rbd:cache_mode': 'unsafe'}, 'rbd', 'not allowed by this'),
            ({'rbd:cache_mode': 'none'}, 'fake', 'no back end of the volume'),
        ):
            self._refused(words, self._body(metadata, name))

    def test_keys_of_the_type_are_checked(self) -> None:
        self.set_specs('striped', rbd__stripe_unit='3K')
        body = self._body({}, 'rbd', volume_type='striped')
        self._refused('not a power of two', body)
        self.set_specs('rbd', rbd__sector_size='4096')
        words = 'rbd:sector_size in the metadata of the volume'
        self._refused(words, self._body({}, 'rbd'))
        self._accepted(self._body({'rbd:sector_size': '512'}, 'rbd'))
        metadata = {'rbd:object_map': 'true'}
        body = self._body(metadata, 'rbd', volume_type='shared')
        self._refused('multi-attach', body)

    def test_list_for_tenants_does_not_apply(self) -> None:
        metadata = {'rbd:object_size': '8M', 'rbd:object_map': 'true'}
        self._accepted(self._body(metadata, 'rbd2'))
        host = {'host': 'host@rbd2', 'volume_type': None}
        self._accepted(self._body(metadata, 'rbd2', **host))

    def test_without_keys(self) -> None:
        self._accepted(self._body(None, 'fake'))
        self._accepted(self._body({'colour': 'blue'}, 'rbd'))
        self.get_pools.assert_not_called()

    def test_member_of_a_cluster(self) -> None:
        """Pools of a clustered host have the name of the cluster."""
        objects.Service(
            cinder_context.get_admin_context(),
            host='one@member',
            binary='cinder-volume',
            topic='cinder-volume',
            cluster_name='host@rbd',
        ).create()
        body = self._body({'rbd:cache_mode': 'unsafe'}, 'rbd')
        for host in ('one@member#rbd', 'one@member'):
            body['volume']['host'] = host
            self._refused('not allowed by this', body)
        body['volume']['host'] = 'two@member#rbd'
        self._accepted(body)

    def test_policy_of_managing_applies_first(self) -> None:
        body = self._body({'rbd:bad': 'x'})
        for path in _PATHS:
            self.refused(403, 'volume_manage', 'POST', path, body)

    def test_what_cinder_refuses_is_left_to_it(self) -> None:
        metadata = {'rbd:object_size': '1M'}
        bodies: Any = (
            {},
            {'volume': None},
            {'volume': {'metadata': metadata}},
            self._body(metadata, volume_type='none such'),
            self._body(metadata, volume_type=5),
            self._body({'rbd:object_size': 5}),
        )
        for body in bodies:
            for path in _PATHS:
                response = self.call('POST', path, body, app=self.admin)
                self.assertEqual(400, response.status_int, response.text)
                self.assertNotIn('RBD volume option', response.text)
