# SPDX-License-Identifier: Apache-2.0

import functools

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


class OptionsTestCase(base.TestCase):
    def test_keys_have_scopes_policies_and_attributes(self) -> None:
        """Clients and operators know these names."""
        both, of_type = {_VOLUME, _TYPE}, {_TYPE}
        prefix = 'volume_extension:rbd_volume_options:set_'
        for name, scopes, fixed, policy, attribute in (
            ('object_size', both, True, 'layout', 'object_size'),
            ('stripe_unit', both, True, 'layout', 'stripe_unit'),
            ('stripe_count', both, True, 'layout', 'stripe_count'),
            ('object_map', both, True, 'features', None),
            ('features', both, True, 'features', 'features'),
            ('cache_mode', both, False, 'cache_mode', 'cache_modes'),
            ('data_pool', of_type, True, None, 'data_pool'),
        ):
            option = registry.OPTIONS[f'rbd:{name}']
            self.assertEqual((name, scopes), (option.name, option.scopes))
            self.assertIs(fixed, option.fixed)
            self.assertEqual(
                f'rbd_volume_{name}', registry.conf_names()[option.key]
            )
            self.assertEqual(
                policy and f'{prefix}{policy}',
                option.policy and option.policy.name,
            )
            self.assertEqual(
                attribute and f'os-rbd-volume-options:{attribute}',
                option.attribute,
            )
        option = registry.OPTIONS['rbd:tenant_options']
        self.assertEqual('rbd_tenant_options', option.conf_name)
        self.assertIsNone(option.policy or option.attribute)

    def test_no_other_keys_exist(self) -> None:
        rates = [
            f'{direction}{what}'
            for what in ('iops', 'bps')
            for direction in ('', 'read_', 'write_')
        ]
        words = ('limit', 'burst', 'burst_seconds', 'limit_per_gib')
        in_a_volume = (
            *('object_size', 'stripe_unit', 'stripe_count', 'object_map'),
            *('features', 'cache_mode', *(f'{name}_*' for name in rates)),
            *('compression_hint', 'discard', 'discard_granularity'),
            *('detect_zeroes', 'sector_size'),
        )
        in_a_type = (
            *('boot_from_4096', 'data_pool', 'keep_deleted'),
            'tenant_options',
        )
        self.assertEqual(
            {
                *(f'rbd:{name}' for name in in_a_volume if '*' not in name),
                *(f'rbd:{name}' for name in in_a_type),
                *(f'rbd:{name}_{word}' for name in rates for word in words),
                *(f'rbd:{name}_limit_minimum' for name in rates),
                *(f'rbd:{name}_limit_maximum' for name in rates),
            },
            set(registry.OPTIONS),
        )
        shown = ', '.join(f'rbd:{name}' for name in in_a_volume)
        self.assertEqual(shown, registry.names(_VOLUME))
        more = ''.join(f', rbd:{name}' for name in in_a_type)
        self.assertEqual(shown + more, registry.names(_TYPE))

    def test_mode_is_an_attribute_with_its_item_in_a_connection(self) -> None:
        attribute = 'os-rbd-volume-options:cache_modes'
        items = registry.attributes_of_connections()
        self.assertEqual('cache_mode', items[attribute])

    def test_striping_keys_are_partners(self) -> None:
        self.assertEqual(keys.STRIPE_COUNT, registry.partner(keys.STRIPE_UNIT))
        self.assertEqual(keys.STRIPE_UNIT, registry.partner(keys.STRIPE_COUNT))
        self.assertIsNone(registry.partner(keys.OBJECT_SIZE))


class TenantOptionsTestCase(refusals.RefusalTestCase):
    def test_tenant_may_set_only_allowed_keys(self) -> None:
        for names, may, refused, allowed in (
            ([], [], None, ''),
            (['rbd:object_map'], ['rbd:object_map'], None, ''),
            (['rbd:object_map'], _KEYS, None, ''),
            (
                ['rbd:object_map', 'rbd:stripe_unit'],
                ['rbd:stripe_count', 'rbd:object_map'],
                'rbd:stripe_unit',
                'rbd:stripe_count, rbd:object_map',
            ),
            (['rbd:features'], [], 'rbd:features', 'none of the rbd: keys'),
            (
                ['rbd:object_size', 'rbd:cache_mode'],
                ['rbd:object_map'],
                'rbd:cache_mode',
                'rbd:object_map',
            ),
        ):
            check = functools.partial(
                registry.check_tenant,
                {name: f'value of {name}' for name in names},
                frozenset(may),
            )
            if refused is None:
                check()
                continue
            self.assertRefused(
                check,
                refused,
                f'value of {refused}',
                'tenants may not set this key on this volume type',
                allowed,
                Origin.VOLUME_METADATA,
            )

    def test_list_has_keys_families_and_patterns(self) -> None:
        for value, expected in (
            ('', []),
            ('rbd:cache_mode', ['rbd:cache_mode']),
            (','.join(_KEYS), _KEYS),
            (', '.join(_KEYS), _KEYS),
            (
                'rbd:layout, rbd:discard',
                [
                    *(keys.OBJECT_SIZE, keys.STRIPE_UNIT, keys.STRIPE_COUNT),
                    keys.DISCARD,
                ],
            ),
            ('rbd:limits', _LIMITS),
            (
                'rbd:iops_*,rbd:*_iops_limit',
                [
                    *('rbd:iops_limit', 'rbd:iops_burst'),
                    *('rbd:iops_burst_seconds', 'rbd:read_iops_limit'),
                    'rbd:write_iops_limit',
                ],
            ),
            ('rbd:*', _KEYS),
            ('rbd:*ops*burst*s', [k for k in _KEYS if 'ops_burst_s' in k]),
        ):
            self.assertEqual(set(expected), registry.parse_key_list(value))

    def test_list_has_no_other_names(self) -> None:
        for value, word in (
            ('rbd:data_pool', 'rbd:data_pool'),
            ('rbd:tenant_options', 'rbd:tenant_options'),
            ('rbd:features,', ''),
            ('features', 'features'),
            ('rbd:turbo', 'rbd:turbo'),
            ('rbd:turbo*', 'rbd:turbo*'),
            # Patterns that overlap, of another kind, or of keys of types.
            ('rbd:discard*discard', 'rbd:discard*discard'),
            ('rbd:iops_?????', 'rbd:iops_?????'),
            ('rbd:*_maximum', 'rbd:*_maximum'),
            (f'rbd:{"*" * 40}x', f'rbd:{"*" * 40}x'),
        ):
            self.assertRefused(
                functools.partial(registry.parse_key_list, value),
                'rbd:tenant_options',
                word,
                f'{word!r} is not a key that tenants can set',
                'a comma-separated list of rbd:layout, rbd:limits, of keys '
                'of volumes, and of patterns such as rbd:iops_*',
            )

    def test_error_of_a_key_list_names_the_wrong_part_once(self) -> None:
        error = self.assertRaises(
            errors.OptionError, registry.parse_key_list, 'rbd:iops_*,rbd:turbo'
        )
        self.assertEqual(1, str(error).count('rbd:turbo'))
        self.assertLess(len(str(error)), 200)


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
