#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The metadata definitions for Glance match the existing keys."""

import json

from rbd_volume_options import cache_modes
from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import keys
from tests import tree
from tests.unit import base

_FILE = tree.ROOT / 'etc/metadefs/rbd-volume-options.json'


class MetadefsTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.namespace = json.loads(_FILE.read_text())
        self.properties = self.namespace['properties']

    def test_every_key_and_no_other(self) -> None:
        for association in self.namespace['resource_type_associations']:
            prefix = association['prefix']
            self.assertEqual(
                set(definitions.OPTIONS),
                {f'{prefix}{name}' for name in self.properties},
            )

    def test_choices_are_those_of_the_rules(self) -> None:
        self.assertEqual(
            [mode.value for mode in cache_modes.CacheMode],
            self.properties['cache_mode']['enum'],
        )
        for name in features.CHOOSABLE:
            self.assertIn(name, self.properties['features']['description'])

    def test_each_helps(self) -> None:
        for name, each in self.properties.items():
            key = definitions.OPTIONS[f'rbd:{name}']
            self.assertNotEqual('', each['title'])
            types_only = keys.Scope.VOLUME not in key.scopes
            self.assertEqual(
                types_only, 'In volume types only' in each['description'], name
            )
