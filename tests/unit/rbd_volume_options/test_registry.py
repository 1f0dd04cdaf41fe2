# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from tests.unit import base
from tests.unit import untrusted
from tests.unit.rbd_volume_options import refusals

Origin = errors.Origin


_VOLUME = keys.Scope.VOLUME
_TYPE = keys.Scope.TYPE
_KEYS = registry.volume_keys()
_LIMITS = [
    key
    for limit in keys.LIMITS
    for key in (limit.limit, limit.burst, limit.burst_seconds)
]


def _keys_of(limit: keys.LimitKeys) -> list[str]:
    """Return the keys about a limit on reads and writes, spelled out."""
    words = ('limit', 'burst', 'burst_seconds')
    rules = ('per_gib', 'minimum', 'maximum')
    return [f'rbd:{limit.name}_{word}' for word in words] + [
        f'rbd:{limit.name}_limit_{rule}' for rule in rules
    ]


@ddt.ddt
class OptionsTestCase(base.TestCase):
    @ddt.named_data(
        ['object_size', 'rbd:object_size', {_VOLUME, _TYPE}, True],
        ['stripe_unit', 'rbd:stripe_unit', {_VOLUME, _TYPE}, True],
        ['stripe_count', 'rbd:stripe_count', {_VOLUME, _TYPE}, True],
        ['object_map', 'rbd:object_map', {_VOLUME, _TYPE}, True],
        ['features', 'rbd:features', {_VOLUME, _TYPE}, True],
        ['cache_mode', 'rbd:cache_mode', {_VOLUME, _TYPE}, False],
        ['data_pool', 'rbd:data_pool', {_TYPE}, True],
        ['tenant_options', 'rbd:tenant_options', {_TYPE}, False],
    )
    def test_key_has_scopes_and_summary(
        self, name: str, scopes: set[keys.Scope], fixed: bool
    ) -> None:
        option = registry.OPTIONS[name]
        self.assertEqual(name, option.key)
        self.assertEqual(scopes, option.scopes)
        self.assertIs(fixed, option.fixed)
        self.assertNotEqual('', option.summary)

    @ddt.named_data(
        ['layout', 'rbd:stripe_unit', 'stripe_unit', 'layout', 'stripe_unit'],
        ['size', 'rbd:object_size', 'object_size', 'layout', 'object_size'],
        ['object_map', 'rbd:object_map', 'object_map', 'features', None],
        ['features', 'rbd:features', 'features', 'features', 'features'],
        ['mode', 'rbd:cache_mode', 'cache_mode', 'cache_mode', 'cache_modes'],
        ['data_pool', 'rbd:data_pool', 'data_pool', None, 'data_pool'],
    )
    def test_what_stands_for_a_key(
        self, name: str, word: str, policy: str | None, attribute: str | None
    ) -> None:
        option = registry.OPTIONS[name]
        self.assertEqual(f'rbd_volume_{word}', option.conf_name)
        self.assertEqual(option.conf_name, registry.conf_names()[name])
        prefix = 'volume_extension:rbd_volume_options:set_'
        self.assertEqual(
            policy and f'{prefix}{policy}',
            option.policy and option.policy.name,
        )
        alias = 'os-rbd-volume-options'
        self.assertEqual(
            attribute and f'{alias}:{attribute}', option.attribute
        )

    def test_list_of_keys_for_tenants(self) -> None:
        option = registry.OPTIONS['rbd:tenant_options']
        self.assertEqual('rbd_tenant_options', option.conf_name)
        self.assertIsNone(option.policy)
        self.assertIsNone(option.attribute)

    def test_no_other_keys_exist(self) -> None:
        self.assertEqual(
            {
                'rbd:object_size',
                'rbd:stripe_unit',
                'rbd:stripe_count',
                'rbd:object_map',
                'rbd:features',
                'rbd:cache_mode',
                'rbd:compression_hint',
                *(key for each in keys.LIMITS for key in _keys_of(each)),
                'rbd:discard',
                'rbd:discard_granularity',
                'rbd:detect_zeroes',
                'rbd:sector_size',
                'rbd:boot_from_4096',
                'rbd:data_pool',
                'rbd:keep_deleted',
                'rbd:tenant_options',
            },
            set(registry.OPTIONS),
        )

    def test_all_begin_with_the_prefix(self) -> None:
        # The scheduler ignores only scoped extra specs.
        self.assertEqual('rbd:', keys.PREFIX)
        for name in registry.OPTIONS:
            self.assertTrue(name.startswith(keys.PREFIX), name)

    def test_names_for_a_message(self) -> None:
        in_a_volume = (
            'rbd:object_size, rbd:stripe_unit, rbd:stripe_count, '
            'rbd:object_map, rbd:features, rbd:cache_mode, rbd:iops_*, '
            'rbd:read_iops_*, rbd:write_iops_*, rbd:bps_*, rbd:read_bps_*, '
            'rbd:write_bps_*, rbd:compression_hint, rbd:discard, '
            'rbd:discard_granularity, rbd:detect_zeroes, rbd:sector_size'
        )
        self.assertEqual(in_a_volume, registry.names(_VOLUME))
        self.assertEqual(
            f'{in_a_volume}, rbd:boot_from_4096, rbd:data_pool, '
            'rbd:keep_deleted, rbd:tenant_options',
            registry.names(_TYPE),
        )

    def test_mode_is_an_attribute_with_its_item_in_a_connection(self) -> None:
        self.assertEqual(
            'cache_mode',
            registry.attributes_of_connections()[
                'os-rbd-volume-options:cache_modes'
            ],
        )

    def test_striping_keys_are_partners(self) -> None:
        self.assertEqual(keys.STRIPE_COUNT, registry.partner(keys.STRIPE_UNIT))
        self.assertEqual(keys.STRIPE_UNIT, registry.partner(keys.STRIPE_COUNT))
        self.assertIsNone(registry.partner(keys.OBJECT_SIZE))


@ddt.ddt
class TenantKeysTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['nothing_given', [], ['rbd:object_map']],
        ['nothing_given_or_allowed', [], []],
        ['what_is_allowed', ['rbd:object_map'], ['rbd:object_map']],
        ['some_of_it', ['rbd:object_map'], list(_KEYS)],
    )
    def test_tenant_may_set_allowed_keys(
        self, names: list[str], allowed: list[str]
    ) -> None:
        registry.check_tenant(dict.fromkeys(names, 'x'), frozenset(allowed))

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
    def test_refusal_of_tenant_shows_key_and_value(
        self, names: list[str], may: list[str], key: str, allowed: str
    ) -> None:
        self.assertRefused(
            lambda: registry.check_tenant(
                {name: f'value of {name}' for name in names}, frozenset(may)
            ),
            key,
            f'value of {key}',
            'tenants may not set this key on this volume type',
            allowed,
            Origin.VOLUME_METADATA,
        )


@ddt.ddt
class TenantOptionsTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['none', '', []],
        ['one', 'rbd:cache_mode', ['rbd:cache_mode']],
        [
            'all',
            ','.join(_KEYS),
            _KEYS,
        ],
        [
            'spaces',
            ', '.join(_KEYS),
            _KEYS,
        ],
        [
            'family',
            'rbd:layout, rbd:discard',
            [
                *(keys.OBJECT_SIZE, keys.STRIPE_UNIT, keys.STRIPE_COUNT),
                keys.DISCARD,
            ],
        ],
        ['limits', 'rbd:limits', _LIMITS],
        [
            'pattern',
            'rbd:iops_*,rbd:*_iops_limit',
            [
                *('rbd:iops_limit', 'rbd:iops_burst'),
                *('rbd:iops_burst_seconds', 'rbd:read_iops_limit'),
                'rbd:write_iops_limit',
            ],
        ],
        ['pattern_of_all', 'rbd:*', _KEYS],
        [
            'stars',
            'rbd:*ops*burst*s',
            [k for k in _KEYS if 'ops_burst_s' in k],
        ],
    )
    def test_key_list_is_parsed(self, value: str, expected: list[str]) -> None:
        self.assertEqual(set(expected), registry.parse_key_list(value))

    @ddt.named_data(
        ['a_key_of_types', 'rbd:data_pool', 'rbd:data_pool'],
        ['itself', 'rbd:tenant_options', 'rbd:tenant_options'],
        ['comma_at_the_end', 'rbd:features,', ''],
        ['no_prefix', 'features', 'features'],
        ['unknown', 'rbd:turbo', 'rbd:turbo'],
        ['pattern_without_a_key', 'rbd:turbo*', 'rbd:turbo*'],
        [
            'pattern_that_overlaps',
            'rbd:discard*discard',
            'rbd:discard*discard',
        ],
        ['other_patterns', 'rbd:iops_?????', 'rbd:iops_?????'],
        ['pattern_of_keys_of_types', 'rbd:*_maximum', 'rbd:*_maximum'],
        ['family_of_features', 'rbd:sizes', 'rbd:sizes'],
        ['many_stars', f'rbd:{"*" * 40}x', f'rbd:{"*" * 40}x'],
    )
    def test_key_list_refuses_other_names(self, value: str, word: str) -> None:
        self.assertRefused(
            lambda: registry.parse_key_list(value),
            'rbd:tenant_options',
            word,
            f'{word!r} is not a key that tenants can set',
            'a comma-separated list of '
            + ', '.join(['rbd:layout', 'rbd:limits', *_KEYS]),
        )


class UntrustedValueTestCase(refusals.RefusalTestCase):
    @hypothesis.given(
        strategies.sampled_from([*registry.OPTIONS.values()]).flatmap(
            lambda option: strategies.tuples(
                strategies.just(option),
                untrusted.TEXTS
                | strategies.sampled_from([*option.suggestions, '1', '64K']),
            )
        )
    )
    def test_any_text_is_refused_or_has_a_canonical_text(
        self, drawn: tuple[definitions.Option, str]
    ) -> None:
        option, text = drawn
        try:
            value = option.parse(text)
        except errors.OptionError as error:
            self.assertMessageIsWhole(error)
            return
        canonical = definitions.as_text(value)
        self.assertEqual(value, option.parse(canonical))
        self.assertTrue(canonical.isascii() and canonical.isprintable())
