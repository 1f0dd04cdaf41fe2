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

"""The amount of data that pages receive about volume types."""

import html
import json
import re

from django.core import cache

from horizon_volume_opts import packing
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case
from tests.unit.horizon_volume_opts import test_rest

# Bytes: a form's fields and help without data, and the data of each type.
_FORM = 5000
_TYPE = 300

_ASK = 'GET /v3/p/os-rbd-volume-options'


class DistinctTestCase(test_rest.RestTestCase):
    def test_equal_values_have_one_number(self) -> None:
        found = packing.Distinct()
        numbers = [found.number(each) for each in ([1], [2], [1], [True])]
        self.assertEqual([0, 1, 0, 2], numbers)
        self.assertEqual([[1], [2], [True]], found.values)


class SizeTestCase(test_rest.RestTestCase):
    """Every type has another object size and other allowed keys."""

    def types(self, count: int) -> None:
        cache.cache.clear()
        self.cloud.asked.clear()
        self.cloud.types = [
            fake_cloud.offered(
                f'a volume type {number:03d}',
                object_size={'default': 2 ** (12 + number % 14)},
                features={'settable': number % 2 == 0},
            )
            for number in range(count)
        ]
        # One volume of each type, and one of none of them.
        self.cloud.volumes.clear()
        self.cloud.add_volume('v', volume_type='other')
        for each in self.cloud.types[1:]:
            self.cloud.add_volume(
                f'of {each["name"]}', volume_type=each['name']
            )

    def page(self, path: str, count: int) -> str:
        """Return a page with a number of volume types."""
        self.types(count)
        response = self.client.get(path)
        self.assertEqual(200, response.status_code)
        self.assertEqual(1, self.cloud.asked.count(_ASK))
        return str(response.content.decode())

    def check_data(self, path: str, name: str) -> None:
        """Check the size of the data in a page, which is escaped there."""

        def data(count: int) -> str:
            found = re.search(f'{name}="([^"]*)"', self.page(path, count))
            return found[1] if found else ''

        one, many = data(1), data(41)
        found = json.loads(html.unescape(many))
        self.assertEqual(41, len(found.get('types', found)))
        self.assertLessEqual(len(one), _FORM)
        self.assertLessEqual((len(many) - len(one)) / 40, _TYPE)

    def test_create_volume(self) -> None:
        self.check_data('/project/volumes/create/', 'data-rbd-offers')

    def test_attach_volume_of_an_instance(self) -> None:
        self.cloud.servers['s'] = {
            'id': 's',
            'name': 'server',
            'status': 'ACTIVE',
            'image': {'id': 'i'},
        }
        self.check_data(
            '/project/instances/s/attach_volume/', 'data-rbd-modes'
        )

    def test_change_volume_type(self) -> None:
        self.check_data('/project/volumes/v/retype/', 'data-rbd-effects')

    def test_wizards(self) -> None:
        def size(count: int) -> int:
            self.types(count)
            _status, found = self.ask('/api/rbd_volume_options/types/')
            self.assertEqual(count, len(horizon_case.unpacked(found)))
            self.assertEqual(1, self.cloud.asked.count(_ASK))
            return len(json.dumps(found))

        one, many = size(1), size(41)
        self.assertLessEqual(one, _FORM)
        self.assertLessEqual((many - one) / 40, _TYPE)
