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

"""Test that the offers in the JavaScript tests match the server's."""

import json
import pathlib
from typing import Any

from horizon_volume_opts import discovery
from horizon_volume_opts.volumes import create
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case
from tests.unit.horizon_volume_opts import test_rest

_OFFERS = (
    pathlib.Path(__file__).parent.parent.parent / 'javascript' / 'offers.json'
)


class OffersOfScriptsTestCase(test_rest.RestTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cloud.types[0] = fake_cloud.offered(
            'rbd', object_size={'minimum': 2**16, 'maximum_objects': 2**24}
        )
        self.offers: dict[str, Any] = json.loads(_OFFERS.read_text())

    def test_of_the_form(self) -> None:
        request = self.request('/')
        group = create.options_group({}, discovery.by_type(request))
        drawn = f'<p data-rbd-offers={group.context["data"]}>'
        self.assertEqual(
            self.offers['form'],
            horizon_case.data_of(drawn, 'data-rbd-offers'),
        )

    def test_of_the_wizard(self) -> None:
        self.assertEqual(
            (200, self.offers['wizard']),
            self.ask('/api/rbd_volume_options/types/'),
        )
