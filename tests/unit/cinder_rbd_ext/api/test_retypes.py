# SPDX-License-Identifier: Apache-2.0

"""Test the checks of a retype."""

from typing import Any
from unittest import mock

from cinder import context as cinder_context
from cinder.tests.unit import fake_constants as fake
import webob.exc

from cinder_rbd_ext import record
from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import restrictions
from cinder_rbd_ext.api import retypes
from rbd_volume_options import image_record
from tests.unit.cinder_rbd_ext.api import base


class RetypesTest(base.ApiTestCase):
    def _check(
        self,
        volume: Any,
        new_type: str,
        may_migrate: bool = False,
        shows_pools: bool = False,
    ) -> str | None:
        caller = cinder_context.RequestContext(
            fake.USER_ID,
            fake.PROJECT_ID,
            is_admin=shows_pools,
            roles=['member', 'reader', *(['admin'] if shows_pools else [])],
        )
        body = {
            'new_type': self.types[new_type],
            'migration_policy': 'on-demand' if may_migrate else 'never',
        }
        request = api_call.ApiCall(
            mock.Mock(environ={'cinder.context': caller}),
            {'os-retype': body},
            {'id': volume.id},
            'os-retype',
            '',
            restrictions.Restrictions(
                pools.ReportedPools(), known_types.KnownTypes()
            ),
        )
        # Not as in the database.
        vars(request)['volume'] = volume
        with request.checking():
            retypes.check_retype(request)
        return request.notice

    def _refused(self, words: str, *args: Any) -> None:
        error = self.assertRaises(webob.exc.HTTPBadRequest, self._check, *args)
        self.assertIn(words, error.explanation)

    def test_clustered_back_end(self) -> None:
        """Volumes contain the name of a host, pools that of the cluster."""
        plain = {
            **base.MADE,
            'rbd:stripe_unit': '1048576',
            'rbd:stripe_count': '1',
        }
        volume = self.volume(
            {'rbd:cache_mode': 'none'},
            plain,
            host='one@rbd#rbd',
            cluster_name='host@rbd#rbd',
        )
        self.assertIsNone(self._check(volume, 'both'))
        self.assertIsNotNone(self._check(volume, 'striped', True))
        # The driver of a migration does not get it from Cinder.
        self.assertEqual(
            self.types['striped'],
            record.items_of(volume.id)[image_record.RECORD_NEW_TYPE],
        )
        # Ceph converts the image unless a client has it open.
        self.assertIsNotNone(self._check(volume, 'striped'))
        volume.status = 'in-use'
        self.assertIsNotNone(self._check(volume, 'striped', True))
        self._refused('detach the volume', volume, 'striped')
        self._refused('on-demand', volume, 'striped')

    def test_data_pool_of_the_former_type(self) -> None:
        self.add_type('pooled', {**base.TYPES['rbd'], 'rbd:data_pool': 'ec'})
        made = {**base.MADE, 'rbd:data_pool': 'ec'}
        volume = self.volume(
            None,
            made,
            volume_type_id=self.types['pooled'],
            host='host@rbd#rbd',
        )
        self.assertIsNone(self._check(volume, 'rbd'))
        self.snapshot(volume)
        self.assertIsNone(self._check(volume, 'rbd'))
        volume.status = 'in-use'
        self._refused('migration_policy to on-demand', volume, 'rbd')
        self._refused('delete the snapshots', volume, 'rbd', True)

    def test_pool_is_named_to_callers_who_may_see_pools(self) -> None:
        for pool in ('ec', 'secret'):
            self.add_type(pool, {**base.TYPES['rbd'], 'rbd:data_pool': pool})
        made = {**base.MADE, 'rbd:data_pool': 'ec'}
        volume = self.volume(made=made, volume_type='ec', host='host@rbd#rbd')
        volume.status = 'in-use'
        for shows_pools in (True, False):
            error = self.assertRaises(
                webob.exc.HTTPBadRequest,
                self._check,
                *(volume, 'secret'),
                shows_pools=shows_pools,
            )
            shown = 'secret' in error.explanation
            self.assertIs(shows_pools, shown, error.explanation)

    def test_layout_that_the_new_type_keeps_from_tenants(self) -> None:
        self.add_type(
            'locked', {**base.TYPES['rbd'], 'rbd:tenant_options': ''}
        )
        metadata = {k: v for k, v in base.MADE.items() if 'features' not in k}
        volume = self.volume(metadata, base.MADE)
        told = self._check(volume, 'locked')
        self.assertIn('removes keys', told or '')
        self.assertIn('rbd:stripe_count', told or '')

    def test_where_a_volume_may_come_to(self) -> None:
        volume = self.volume({'rbd:object_size': '1M'}, base.MADE)
        volume.host = 'host@elsewhere#pool'
        told = self._check(volume, 'both', True)
        self.assertIn('may remove', told or '')

    def test_within_a_back_end_that_is_not_ours(self) -> None:
        volume = self.volume({'rbd:object_size': '1M'}, volume_type='fake')
        self.assertIsNone(self._check(volume, 'any'))

    def test_type_without_a_back_end(self) -> None:
        volume = self.volume({'rbd:object_size': '1M'}, base.MADE)
        self.assertRaises(
            webob.exc.HTTPServiceUnavailable, self._check, volume, 'nowhere'
        )
        self.assertIsNone(self._check(self.volume(), 'nowhere'))
