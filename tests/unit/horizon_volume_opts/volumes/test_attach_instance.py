# SPDX-License-Identifier: Apache-2.0

"""The Attach Volume form of an instance, in Horizon's views."""

import re
from typing import Any

from django.core import cache
from openstack_dashboard.dashboards.project.instances import views
import requests.exceptions

from horizon_volume_opts.volumes import attach
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case
from tests.unit.horizon_volume_opts.volumes import test_attach

INSTANCE = '/project/instances/s/attach_volume/'


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

    def described(self) -> dict[str, tuple[Any, Any, Any]]:
        """Return the modes, the note and the mode of each listed volume."""
        page = self.page()
        packed = horizon_case.data_of(page, 'data-rbd-modes')
        self.assertIsNotNone(packed)
        lists, notes = packed['lists'], packed['notes']
        listed = re.findall(r'<option value="([^"]+)"', page)[
            : len(packed['volumes'])
        ]
        return {
            ident: (
                kind[0] if kind[0] is None else lists[kind[0]],
                kind[1] if kind[1] is None else notes[kind[1]],
                kind[2],
            )
            for ident, number in zip(listed, packed['volumes'], strict=True)
            for kind in [packed['kinds'][number]]
        }

    def test_horizon_s_view_uses_it(self) -> None:
        self.assertIs(attach.InstanceForm, views.AttachVolumeView.form_class)

    def test_data_for_each_volume_of_the_list(self) -> None:
        volumes = self.described()
        modes, note, mode = volumes['v']
        self.assertEqual(
            ['', 'none', 'writethrough', 'writeback'],
            [value for value, _ in modes],
        )
        self.assertEqual((None, None), (note, mode))
        self.assertEqual((modes, None, 'writeback'), volumes['mine'])
        for ident, words in (
            ('shared', 'not coherent'),
            ('other', 'no back end'),
        ):
            modes, note, mode = volumes[ident]
            self.assertIn(words, note)
            self.assertEqual((None, None), (modes, mode))

    def test_only_listed_volumes(self) -> None:
        """A volume that is attached cannot be selected."""
        self.cloud.add_volume('away', attachments=[{'server_id': 'x'}])
        volumes = self.described()
        self.assertEqual({'v', 'shared', 'other', 'mine'}, set(volumes))

    def test_stock_form_without_the_extension(self) -> None:
        self.cloud.types = []
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

    def test_put_back_where_the_volume_is_not_attached(self) -> None:
        self.cloud.faults = {test_attach.ATTACH: fake_cloud.Refused(409, 'no')}
        self.check_done(self.post('none', 'mine'))
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

    def test_refused_where_cinder_does_not_tell(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        self.check_refused('this value cannot be checked')
        self.cloud.faults = {}
        cache.cache.clear()
        self.cloud.types = []
        self.check_refused('no RBD volume options')
