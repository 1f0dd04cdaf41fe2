# SPDX-License-Identifier: Apache-2.0

"""The Attach Volume form of an instance, in Horizon's views."""

from typing import Any

from django.core import cache

from tests import runs
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts.volumes import test_attach

INSTANCE = '/project/instances/s/attach_volume/'


@runs.tags(runs.RELEASES)
class InstanceTestCase(test_attach.AttachTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cloud.add_volume('shared', multiattach=True)
        self.cloud.add_volume('other', volume_type='lvm')
        self.cloud.add_volume('mine', metadata={test_attach.KEY: 'writeback'})

    def page(self) -> str:
        response = self.client.get(INSTANCE)
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def post(self, mode: str | None = None, volume: str = 'v') -> Any:
        data = {'volume': volume, 'instance_id': 's'}
        if mode is not None:
            data['rbd_cache_mode'] = mode
        return self.client.post(INSTANCE, data)

    def shown(self, volume: str) -> str:
        """Return the response to the script for a volume."""
        status, answer = self.ask('cache-modes', volume=volume)
        self.assertEqual(200, status, answer)
        return str(answer['html'])

    def test_group_is_empty_until_a_volume_is_selected(self) -> None:
        page = self.page()
        self.assertIn('data-rbd-names="volume"', page)
        self.assertNotIn('name="rbd_cache_mode"', page)
        self.assertEqual('', self.shown(''))

    def test_modes_of_the_selected_volume(self) -> None:
        self.assertIn('<option value="" selected>Default: ', self.shown('v'))
        self.assertIn('value="writeback" selected', self.shown('mine'))
        for ident in ('shared', 'other'):
            self.assertEqual('', self.shown(ident))

    def test_stock_form_where_no_volume_offers_a_mode(self) -> None:
        for ident in ('v', 'mine'):
            del self.cloud.volumes[ident]
        self.assertNotIn('rbd_', self.page())

    def test_set_before_the_volume_is_attached(self) -> None:
        self.check_done(self.post('writeback'))
        self.assertEqual('writeback', self.volume['metadata'][test_attach.KEY])
        self.assertTrue(self.attached())

    def test_the_mode_of_the_volume_stays(self) -> None:
        self.check_done(self.post(None, 'mine'))
        self.check_done(self.post('writeback', 'mine'))
        self.assertEqual(
            {test_attach.KEY: 'writeback'},
            self.cloud.volumes['mine']['metadata'],
        )

    def check_refused(self, words: str, volume: str = 'v') -> None:
        response = self.post('writeback', volume)
        self.assertEqual(200, response.status_code)
        errors = response.context['form'].errors
        self.assertEqual({'rbd_cache_mode'}, set(errors))
        self.assertIn(words, errors['rbd_cache_mode'][0])
        page = response.content.decode()
        self.assertIn('<option value="writeback" selected', page)
        self.assertEqual('available', self.cloud.volumes[volume]['status'])

    def test_refused_at_the_field(self) -> None:
        self.check_refused('no back end', 'other')
        self.check_refused('not coherent', 'shared')
        self.cloud.types[0] = fake_cloud.offered(
            'rbd', cache_mode={'allowed': ['none']}
        )
        cache.cache.clear()
        self.check_refused('not allowed')
