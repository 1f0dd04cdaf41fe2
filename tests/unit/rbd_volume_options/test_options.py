# SPDX-License-Identifier: Apache-2.0

import contextlib

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options.families import cache_modes
from tests import option_values
from tests.unit import untrusted
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB

Origin = errors.Origin
_VOLUME = keys.Scope.VOLUME
_TYPE = keys.Scope.TYPE

# A valid value for each key, and its parsed value.
_GOOD: dict[str, tuple[str, dict[str, object]]] = {
    'rbd:object_size': ('8M', {'object_size': 8 * MIB}),
    'rbd:object_map': ('<is> True', {'object_map': True}),
    'rbd:features': (
        'layering,exclusive-lock',
        {'image_features': frozenset({'layering', 'exclusive-lock'})},
    ),
    'rbd:cache_mode': (
        'writeback',
        {'plain': {keys.CACHE_MODE: cache_modes.CacheMode.WRITEBACK}},
    ),
    **{
        key: ('100', {'plain': {key: 100}})
        for key, option in registry.OPTIONS.items()
        if option.family in {each.name for each in keys.LIMITS}
    },
    'rbd:compression_hint': (
        'compressible',
        {'plain': {keys.COMPRESSION_HINT: 'compressible'}},
    ),
    'rbd:discard': ('off', {'plain': {keys.DISCARD: False}}),
    'rbd:discard_granularity': (
        '4096',
        {'plain': {keys.DISCARD_GRANULARITY: '4KiB'}},
    ),
    'rbd:detect_zeroes': ('unmap', {'plain': {keys.DETECT_ZEROES: 'unmap'}}),
    'rbd:sector_size': ('512e', {'plain': {keys.SECTOR_SIZE: '512e'}}),
    'rbd:boot_from_4096': (
        '<is> True',
        {'plain': {keys.BOOT_FROM_4096: True}},
    ),
    'rbd:data_pool': ('ec-data', {'data_pool': 'ec-data'}),
    'rbd:keep_deleted': ('24', {'plain': {keys.KEEP_DELETED: 24}}),
    'rbd:tenant_options': (
        'rbd:cache_mode',
        {'plain': {keys.TENANT_OPTIONS: frozenset({'rbd:cache_mode'})}},
    ),
}

# Invalid values for each key, and the reason in the message.
_BAD = [
    [
        'kept_for_no_time',
        'rbd:keep_deleted',
        '0',
        'not a positive whole number',
    ],
    ['kept_for_a_century', 'rbd:keep_deleted', '876000', 'out of range'],
    [
        'kept_with_a_unit',
        'rbd:keep_deleted',
        '1d',
        'not a positive whole number',
    ],
    ['size_three_mib', 'rbd:object_size', '3M', 'not a power of two'],
    ['size_zero', 'rbd:object_size', '0', 'not a power of two'],
    ['size_negative', 'rbd:object_size', '-1', 'not a size'],
    ['size_exponent', 'rbd:object_size', '1e3', 'not a size'],
    ['size_300_digits', 'rbd:object_size', '9' * 300, 'not a size'],
    ['size_arabic_indic', 'rbd:object_size', '\u0664M', 'not a size'],
    ['size_fullwidth', 'rbd:object_size', '\uff14M', 'not a size'],
    ['size_newline', 'rbd:object_size', '4M\nERROR', 'not a size'],
    ['object_map_two', 'rbd:object_map', '2', 'not a boolean'],
    ['object_map_newline', 'rbd:object_map', 'true\n', 'not a boolean'],
    [
        'features_space',
        'rbd:features',
        'layering deep-flatten',
        "'layering deep-flatten' is not an image feature",
    ],
    ['features_empty', 'rbd:features', '', "'' is not an image feature"],
    [
        'features_prerequisite',
        'rbd:features',
        'layering,object-map',
        'object-map requires exclusive-lock',
    ],
    ['cache_mode_unknown', 'rbd:cache_mode', 'fast', 'not a cache mode'],
    ['cache_mode_newline', 'rbd:cache_mode', 'none\n', 'not a cache mode'],
    ['sector_size_unknown', 'rbd:sector_size', '4k', 'not a sector size'],
    [
        'compression_hint_unknown',
        'rbd:compression_hint',
        'fast',
        'not a compression hint',
    ],
    ['limit_zero', 'rbd:iops_limit', '0', 'not a positive whole number'],
    ['limit_unit', 'rbd:iops_limit', '1K', 'not a positive whole number'],
    ['limit_large', 'rbd:iops_limit', '9999999999', 'out of range'],
    ['limit_bytes', 'rbd:bps_limit', '1T', 'not a size'],
    ['limit_no_bytes', 'rbd:bps_limit', '0', 'out of range'],
    ['burst_long', 'rbd:iops_burst_seconds', '86401', 'out of range'],
    ['data_pool_empty', 'rbd:data_pool', '', 'not a valid pool name'],
    [
        'tenant_options_space',
        'rbd:tenant_options',
        'rbd:features rbd:cache_mode',
        "'rbd:features rbd:cache_mode' is not a key that tenants can set",
    ],
]


def _parse(
    items: dict[str, str],
    scope: keys.Scope = _TYPE,
    origin: Origin = Origin.VOLUME_TYPE,
) -> options.Values:
    return options.parse(items, scope, origin)


@ddt.ddt
class ParseTestCase(refusals.RefusalTestCase):
    def test_nothing_said(self) -> None:
        self.assertEqual(options.Values(), _parse({}))

    @ddt.named_data(
        ['others_metadata', {'readonly': 'False', 'size': '4M'}],
        ['other_scopes', {'capabilities:x': '<is> True', 'hw:rbd:x': '1'}],
        ['no_prefix', {'object_size': '3M', 'rbd': 'x', 'rbd_x': 'y'}],
        ['other_case', {'RBD:object_size': '3M'}],
        ['space_before_the_prefix', {' rbd:object_size': '3M'}],
    )
    def test_keys_of_others_are_passed_over(
        self, items: dict[str, str]
    ) -> None:
        self.assertEqual({}, options.ours(items))
        self.assertEqual(options.Values(), _parse(items))

    @ddt.named_data(*[[key, key, *how] for key, how in _GOOD.items()])
    def test_each_key_alone(
        self, key: str, value: str, parsed: dict[str, object]
    ) -> None:
        expected = option_values.level(errors.Origin.BACKEND, **parsed)  # type: ignore[arg-type]
        self.assertEqual(expected, _parse({key: value, 'other': 'x'}))

    def test_unit_and_count(self) -> None:
        self.assertEqual(
            option_values.level(
                errors.Origin.BACKEND, striping=layout.Striping(64 * KIB, 8)
            ),
            _parse({'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}),
        )

    def test_every_key_has_a_case_above(self) -> None:
        pair = {'rbd:stripe_unit', 'rbd:stripe_count'}
        self.assertEqual(set(registry.OPTIONS), set(_GOOD) | pair)

    def test_the_unit_is_not_held_against_the_object_size_yet(self) -> None:
        # The object size may come from another source.
        self.assertEqual(
            layout.Striping(8 * MIB, 2),
            _parse(
                {
                    'rbd:object_size': '4M',
                    'rbd:stripe_unit': '8M',
                    'rbd:stripe_count': '2',
                }
            )[keys.STRIPING],
        )

    @ddt.named_data(*_BAD)
    def test_bad_value(self, key: str, value: str, reason: str) -> None:
        self.assertRefused(
            lambda: _parse({key: value}),
            key,
            value,
            reason,
            origin=Origin.VOLUME_TYPE,
        )

    @ddt.named_data(
        ['volume', _VOLUME, Origin.VOLUME_METADATA],
        ['type', _TYPE, Origin.VOLUME_TYPE],
        ['backend', _TYPE, Origin.BACKEND],
    )
    def test_origin_is_told(self, scope: keys.Scope, origin: Origin) -> None:
        self.assertRefused(
            lambda: _parse({'rbd:object_size': '3M'}, scope, origin),
            'rbd:object_size',
            '3M',
            'not a power of two',
            'a power of two from 4 KiB to 32 MiB',
            origin,
        )

    def test_error_hides_nothing_behind_it(self) -> None:
        error = self.assertRaises(
            errors.OptionError, _parse, {'rbd:object_size': '3M'}
        )
        # Without a cause, a logged traceback names the origin only once.
        self.assertIsNone(error.__cause__)
        self.assertTrue(error.__suppress_context__)


@ddt.ddt
class ContradictionTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['map_and_true', 'layering,exclusive-lock,object-map', 'true'],
        ['no_map_and_false', 'layering,exclusive-lock', 'false'],
    )
    def test_consistent_features_and_map_are_accepted(
        self, listed: str, object_map: str
    ) -> None:
        _parse({'rbd:features': listed, 'rbd:object_map': object_map})

    @ddt.named_data(
        [
            'no_map_and_true',
            'layering',
            '<is> True',
            'true',
            'contradicts rbd:features = layering',
            'rbd:features with object-map, or only one of the two',
        ],
        [
            'map_and_false',
            'layering,exclusive-lock,object-map',
            'no',
            'false',
            'contradicts rbd:features = '
            'exclusive-lock,fast-diff,layering,object-map',
            'rbd:features without object-map, or only one of the two',
        ],
    )
    def test_contradicting_features_and_map_are_refused(
        self,
        listed: str,
        object_map: str,
        value: str,
        reason: str,
        allowed: str,
    ) -> None:
        self.assertRefused(
            lambda: _parse(
                {'rbd:features': listed, 'rbd:object_map': object_map}
            ),
            'rbd:object_map',
            value,
            reason,
            allowed,
            Origin.VOLUME_TYPE,
        )

    @ddt.data(*keys.LIMITS)
    def test_minimum_of_a_limit_above_its_maximum_is_refused(
        self, each: keys.LimitKeys
    ) -> None:
        texts = {each.per_gib: '1', each.minimum: '5', each.maximum: '5'}
        _parse(texts)
        self.assertRefused(
            lambda: _parse({**texts, each.minimum: '6'}),
            each.maximum,
            5,
            f'less than {each.minimum} = 6',
            '6 or more',
            Origin.VOLUME_TYPE,
        )


class UntrustedTextTestCase(refusals.RefusalTestCase):
    @hypothesis.given(
        strategies.dictionaries(
            untrusted.TEXTS | strategies.sampled_from([*registry.OPTIONS]),
            untrusted.TEXTS,
            max_size=3,
        )
    )
    def test_anything_is_parsed_or_refused_in_one_line(
        self, items: dict[str, str]
    ) -> None:
        try:
            _parse(items)
        except errors.OptionError as error:
            self.assertMessageIsWhole(error)
            self.assertEqual(Origin.VOLUME_TYPE, error.origin)

    def test_long_texts_are_parsed_or_refused_quickly(self) -> None:
        def parse(text: str) -> None:
            for key in registry.OPTIONS:
                with contextlib.suppress(errors.OptionError):
                    registry.OPTIONS[key].parse(text)
            with contextlib.suppress(errors.OptionError):
                _parse({f'rbd:{text}': text})

        self.assertQuick(parse)


class ParsedOnceTestCase(refusals.RefusalTestCase):
    def test_same_text(self) -> None:
        text = {'rbd:object_size': '1M'}
        first = options.parse(text, _VOLUME, Origin.VOLUME_METADATA)
        again = {'colour': 'blue', **text}
        self.assertIs(
            first, options.parse(again, _VOLUME, Origin.VOLUME_METADATA)
        )

    def test_same_text_of_another_scope(self) -> None:
        text = {'rbd:data_pool': 'data'}
        options.parse(text, _TYPE, Origin.VOLUME_TYPE)
        self.assertRaises(
            errors.OptionError,
            options.parse,
            text,
            _VOLUME,
            Origin.VOLUME_METADATA,
        )


@ddt.ddt
class AllowedValuesTestCase(refusals.RefusalTestCase):
    def _check(
        self,
        mode: cache_modes.CacheMode,
        origin: errors.Origin,
        listed: tuple[cache_modes.CacheMode, ...] | None = None,
    ) -> None:
        allowed = {} if listed is None else {keys.CACHE_MODE: listed}
        options.check_allowed(
            option_values.level(
                errors.Origin.BACKEND, plain={keys.CACHE_MODE: mode}
            ),
            operator_limits.Limits(allowed=allowed),
            origin,
        )

    @ddt.data(*cache_modes.SAFE_CACHE_MODES)
    def test_safe_modes_are_allowed_by_default(
        self, mode: cache_modes.CacheMode
    ) -> None:
        self._check(mode, Origin.VOLUME_METADATA)

    def test_unsafe_only_where_it_is_listed(self) -> None:
        self.assertRefused(
            lambda: self._check(cache_modes.CacheMode.UNSAFE, Origin.BACKEND),
            'rbd:cache_mode',
            'unsafe',
            'not allowed by this back end',
            'none, writethrough, writeback, directsync',
            Origin.BACKEND,
        )
        self._check(
            cache_modes.CacheMode.UNSAFE,
            Origin.BACKEND,
            (cache_modes.CacheMode.UNSAFE,),
        )

    @ddt.named_data(
        [
            'another',
            (cache_modes.CacheMode.NONE, cache_modes.CacheMode.DIRECTSYNC),
            'none, directsync',
        ],
        ['nothing', (), 'no value'],
    )
    def test_mode_that_is_not_listed_is_refused(
        self, listed: tuple[cache_modes.CacheMode, ...], allowed: str
    ) -> None:
        self.assertRefused(
            lambda: self._check(
                cache_modes.CacheMode.WRITEBACK, Origin.VOLUME_METADATA, listed
            ),
            'rbd:cache_mode',
            'writeback',
            'not allowed by this back end',
            allowed,
            Origin.VOLUME_METADATA,
        )


@ddt.ddt
class KeyTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['unknown', 'rbd:stripe_size', "'rbd:stripe_size'"],
        ['prefix_alone', 'rbd:', "'rbd:'"],
        ['hyphen', 'rbd:object-size', "'rbd:object-size'"],
        ['twice_the_prefix', 'rbd:rbd:object_size', "'rbd:rbd:object_size'"],
        [
            'newline_and_a_false_log_line',
            'rbd:x\n2026-01-01 ERROR y',
            r"'rbd:x\n2026-01-01 ERROR y'",
        ],
        ['escape_sequence', 'rbd:\x1b[31m', r"'rbd:\x1b[31m'"],
        [
            'look_alike',
            'rbd:\u043ebject_size',
            r"'rbd:\u043ebject_size'",
        ],
        [
            'long',
            'rbd:' + 'x' * 251,
            f"'rbd:{'x' * 60}'... (255 characters)",
        ],
    )
    def test_unknown_key_is_refused(self, key: str, named: str) -> None:
        self.assertRefused(
            lambda: _parse({key: '4M'}, _VOLUME, Origin.VOLUME_METADATA),
            named,
            '4M',
            'unknown key',
            registry.names(_VOLUME),
            Origin.VOLUME_METADATA,
        )

    @ddt.data('rbd:Object_Size', 'rbd:object_size ', 'rbd:\xf8bject_size')
    def test_misspelled_key_names_exact_spelling(self, key: str) -> None:
        self.assertRefused(
            lambda: _parse({key: '4M'}, _VOLUME, Origin.VOLUME_METADATA),
            ascii(key),
            '4M',
            'unknown key; the exact spelling is rbd:object_size',
            registry.names(_VOLUME),
            Origin.VOLUME_METADATA,
        )

    @ddt.data(
        ('rbd:data_pool', 'ec-data'),
        ('rbd:tenant_options', 'rbd:cache_mode'),
    )
    @ddt.unpack
    def test_not_for_volumes(self, key: str, value: str) -> None:
        _parse({key: value})
        self.assertRefused(
            lambda: _parse({key: value}, _VOLUME, Origin.VOLUME_METADATA),
            key,
            value,
            'not a key of volume metadata',
            registry.names(_VOLUME),
            Origin.VOLUME_METADATA,
        )

    @ddt.named_data(
        [
            'unit_without_count',
            'rbd:stripe_unit',
            '64K',
            'set without rbd:stripe_count',
        ],
        [
            'count_without_unit',
            'rbd:stripe_count',
            '8',
            'set without rbd:stripe_unit',
        ],
        [
            'bad_unit_without_count',
            'rbd:stripe_unit',
            '3M',
            'set without rbd:stripe_count',
        ],
    )
    def test_half_of_striping_is_refused(
        self, key: str, value: str, reason: str
    ) -> None:
        self.assertRefused(
            lambda: _parse({key: value, 'rbd:object_size': '4M'}),
            key,
            value,
            reason,
            'both or neither',
            Origin.VOLUME_TYPE,
        )

    @ddt.named_data(
        ['unit', '3M', '8', 'rbd:stripe_unit', '3M', 'not a power of two'],
        [
            'count',
            '64K',
            '0',
            'rbd:stripe_count',
            '0',
            'not a positive whole number',
        ],
        [
            'both_names_one',
            '0',
            '0',
            'rbd:stripe_unit',
            '0',
            'not a power of two',
        ],
    )
    def test_invalid_half_of_striping_is_named(
        self, unit: str, count: str, key: str, value: str, reason: str
    ) -> None:
        self.assertRefused(
            lambda: _parse(
                {'rbd:stripe_unit': unit, 'rbd:stripe_count': count}
            ),
            key,
            value,
            reason,
            origin=Origin.VOLUME_TYPE,
        )
