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

"""Unit tests of cinder_rbd_ext.api.answers: the resulting defaults."""

import dataclasses
from typing import Any

from cinder_rbd_ext.api import answers
from cinder_rbd_ext.api import offers
from rbd_volume_options import keys
from rbd_volume_options import layout
from tests.unit import base
from tests.unit.cinder_rbd_ext.api import base as api_base

_TYPE = {'id': '1', 'name': 'n'}


def _answer(
    specs: dict[str, str], *settings: Any, settable: Any = api_base.ALL_KEYS
) -> answers.Answer:
    offer = offers.TypeOffer(specs, settings or (api_base.settings(),))
    return answers.of_type(_TYPE, offer, settable)


class AnswersTest(base.TestCase):
    """Content of answers; the tests of the routes cover HTTP."""

    def _defaults(self, specs: dict[str, str]) -> answers.Answer:
        return {
            key: (told['default'], told['default_from'])
            for key, told in _answer(specs)['options'].items()
            if told['default'] is not None
        }

    def test_features_of_type_imply_object_map(self) -> None:
        specs = {keys.FEATURES: 'layering,exclusive-lock,object-map'}
        found = self._defaults(specs)
        names = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']
        self.assertEqual((names, 'volume type'), found[keys.FEATURES])
        self.assertEqual((True, 'volume type'), found[keys.OBJECT_MAP])

    def test_features_of_cephs_configuration(self) -> None:
        reported = dataclasses.replace(
            api_base.settings(),
            ceph_features=frozenset({'layering', 'exclusive-lock'}),
        )
        told = _answer({keys.OBJECT_MAP: 'true'}, reported)['options']
        names = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']
        self.assertEqual(names, told[keys.FEATURES]['default'])
        self.assertEqual(
            'Ceph configuration', told[keys.FEATURES]['default_from']
        )
        told = _answer({}, reported)['options']
        self.assertIs(False, told[keys.OBJECT_MAP]['default'])

    def test_striping_of_cephs_configuration(self) -> None:
        reported = dataclasses.replace(
            api_base.settings(), ceph_striping=layout.Striping(65536, 2)
        )
        told = _answer({}, reported)['options']
        self.assertEqual(65536, told[keys.STRIPE_UNIT]['default'])
        self.assertEqual(2, told[keys.STRIPE_COUNT]['default'])
        self.assertEqual(
            'Ceph configuration', told[keys.STRIPE_COUNT]['default_from']
        )

    def test_object_map_alone(self) -> None:
        found = self._defaults({keys.OBJECT_MAP: 'false'})
        self.assertEqual((False, 'volume type'), found[keys.OBJECT_MAP])
        # Ceph's configuration determines the other features.
        self.assertNotIn(keys.FEATURES, found)

    def test_features_of_a_multiattach_type(self) -> None:
        both = (
            api_base.settings(),
            {keys.FEATURES: 'layering', 'multiattach': '<is> True'},
        )
        told = _answer(both[1], both[0])['options'][keys.FEATURES]
        self.assertEqual(['layering'], told['default'])
        self.assertEqual(['deep-flatten', 'layering'], told['allowed'])

    def test_whole_stripes_if_one_wants_them(self) -> None:
        told = _answer(
            {},
            api_base.settings(require_whole_stripes=False),
            api_base.settings(),
        )
        self.assertTrue(told['require_whole_stripes'])

    def test_settable_is_what_the_policy_allows_too(self) -> None:
        told = _answer({}, settable={keys.OBJECT_MAP})['options']
        self.assertEqual(
            [keys.OBJECT_MAP], [k for k, v in told.items() if v['settable']]
        )

    def test_types_are_sorted_by_name(self) -> None:
        found = answers.of_types([{'name': 'b'}, {'name': 'a'}])
        self.assertEqual(
            ['a', 'b'], [each['name'] for each in found['volume_types']]
        )
