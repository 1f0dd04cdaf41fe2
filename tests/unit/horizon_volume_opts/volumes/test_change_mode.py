# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Test changing the cache mode from the row of a volume."""

from typing import Any

import requests.exceptions

from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_PAGE = '/project/volumes/v/rbd_cache_mode/'


class ChangeModeTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.cloud.add_volume('v')

    def post(self, mode: str) -> Any:
        return self.client.post(_PAGE, {'mode': mode})

    def modes(self) -> list[str]:
        form = self.client.get(_PAGE).context['form']
        return [value for value, _text in form.fields['mode'].widget.choices]

    def test_modes_of_the_type(self) -> None:
        self.assertEqual(
            ['', 'none', 'writethrough', 'writeback'], self.modes()
        )

    def test_set_and_removed(self) -> None:
        self.check_done(self.post('writeback'))
        metadata = self.volume['metadata']
        self.assertEqual({'rbd:cache_mode': 'writeback'}, metadata)
        page = self.client.get(_PAGE).content.decode()
        self.assertIn('<option value="writeback" selected>', page)
        self.check_done(self.post(''))
        self.assertEqual({}, metadata)

    def test_a_refusal_is_at_the_field(self) -> None:
        response = self.post('fast')
        self.assertEqual(['mode'], list(response.context['form'].errors))
        self.assertIn('not a cache mode', str(response.context['form'].errors))
        self.assertEqual({}, self.volume['metadata'])

    def test_what_the_type_no_longer_offers_is_kept(self) -> None:
        self.volume['metadata']['rbd:cache_mode'] = 'directsync'
        self.cloud.types = [
            fake_cloud.offered('rbd', cache_mode={'settable': False})
        ]
        self.assertEqual(['', 'directsync'], self.modes())

    def test_a_cinder_that_does_not_answer(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        page = self.client.get(_PAGE).content.decode()
        self.assertIn('The allowed modes are not available.', page)

    def test_the_row_of_a_volume(self) -> None:
        self.cloud.add_volume(
            'other', **{f'{fake_cloud.ALIAS}:object_size': None}
        )
        self.cloud.add_volume('shared', multiattach=True)
        page = self.client.get('/project/volumes/').content.decode()
        self.assertIn(_PAGE, page)
        self.assertNotIn('/project/volumes/other/rbd_cache_mode/', page)
        self.assertNotIn('/project/volumes/shared/rbd_cache_mode/', page)
