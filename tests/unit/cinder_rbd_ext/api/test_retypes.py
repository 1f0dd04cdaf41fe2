# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

from cinder.volume import rpcapi

from cinder_rbd_ext import record
from rbd_volume_options import image_record
from tests.unit.cinder_rbd_ext.api import base

_RETYPE = 'cinder.volume.api.API.retype'


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
