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


import ddt

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import tenant_options
from tests.unit.rbd_volume_options import refusals

Origin = errors.Origin


@ddt.ddt
class TenantKeysTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['nothing_given', [], ['rbd:object_map']],
        ['nothing_given_or_allowed', [], []],
        ['what_is_allowed', ['rbd:object_map'], ['rbd:object_map']],
        ['some_of_it', ['rbd:object_map'], list(keys.VOLUME_KEYS)],
    )
    def test_may(self, given: list[str], allowed: list[str]) -> None:
        tenant_options.check(frozenset(given), frozenset(allowed))

    @ddt.named_data(
        [
            'another',
            ['rbd:object_map', 'rbd:stripe_unit'],
            ['rbd:stripe_count', 'rbd:object_map'],
            'rbd:stripe_unit',
            'rbd:stripe_count, rbd:object_map',
        ],
        [
            'none',
            ['rbd:features'],
            [],
            'rbd:features',
            'none of the rbd: keys',
        ],
        [
            'the_first_of_two',
            ['rbd:object_size', 'rbd:cache_mode'],
            ['rbd:object_map'],
            'rbd:cache_mode',
            'rbd:object_map',
        ],
    )
    def test_may_not(
        self, given: list[str], may: list[str], key: str, allowed: str
    ) -> None:
        self.assertRefused(
            lambda: tenant_options.check(frozenset(given), frozenset(may)),
            key,
            'given',
            'tenants may not set this key on this volume type',
            allowed,
            Origin.VOLUME_METADATA,
        )


@ddt.ddt
class TenantOptionsTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['none', '', []],
        ['one', 'rbd:cache_mode', ['rbd:cache_mode']],
        ['all', ','.join(keys.VOLUME_KEYS), keys.VOLUME_KEYS],
        ['spaces', ', '.join(keys.VOLUME_KEYS), keys.VOLUME_KEYS],
    )
    def test_keys(self, value: str, expected: list[str]) -> None:
        self.assertEqual(set(expected), tenant_options.parse(value))

    @ddt.named_data(
        ['a_key_of_types', 'rbd:data_pool', 'rbd:data_pool'],
        ['itself', 'rbd:tenant_options', 'rbd:tenant_options'],
        ['comma_at_the_end', 'rbd:features,', ''],
        ['no_prefix', 'features', 'features'],
        ['unknown', 'rbd:turbo', 'rbd:turbo'],
    )
    def test_refused(self, value: str, word: str) -> None:
        self.assertRefused(
            lambda: tenant_options.parse(value),
            'rbd:tenant_options',
            value,
            f'{word!r} is not a key that tenants can set',
            'a comma-separated list of ' + ', '.join(keys.VOLUME_KEYS),
        )
