# SPDX-License-Identifier: Apache-2.0

import contextlib
import functools

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

# Invalid values for each key, by the reason in the message.
_BAD: dict[str, dict[str, tuple[str, ...]]] = {
    'rbd:keep_deleted': {
        'not a positive whole number': ('0', '1d'),
        'out of range': ('876000',),
    },
    'rbd:object_size': {
        'not a power of two': ('3M', '0'),
        'not a size': ('-1', '9' * 300, '\u0664M', '\uff14M', '4M\nERROR'),
    },
    'rbd:object_map': {'not a boolean': ('2', 'true\n')},
    'rbd:features': {
        "'layering deep-flatten' is not an image feature": (
            'layering deep-flatten',
        ),
        'object-map requires exclusive-lock': ('layering,object-map',),
    },
    'rbd:cache_mode': {'not a cache mode': ('fast', 'none\n')},
    'rbd:sector_size': {'not a sector size': ('4k',)},
    'rbd:compression_hint': {'not a compression hint': ('fast',)},
    'rbd:iops_limit': {
        'not a positive whole number': ('0', '1K'),
        'out of range': ('9999999999',),
    },
    'rbd:bps_limit': {'not a size': ('1T',), 'out of range': ('0',)},
    'rbd:iops_burst_seconds': {'out of range': ('86401',)},
    'rbd:data_pool': {'not a valid pool name': ('',)},
    'rbd:tenant_options': {
        "'rbd:features rbd:cache_mode' is not a key that tenants can set": (
            'rbd:features rbd:cache_mode',
        )
    },
}


def _parse(
    items: dict[str, str],
    scope: keys.Scope = _TYPE,
    origin: Origin = Origin.VOLUME_TYPE,
) -> options.Values:
    return options.parse(items, scope, origin)


@ddt.ddt
class ParseTestCase(refusals.RefusalTestCase):
    def test_keys_of_others_are_passed_over(self) -> None:
        for items in (
            {},
            {'readonly': 'False', 'size': '4M', 'capabilities:x': 'y'},
            {'object_size': '3M', 'rbd': 'x', 'rbd_x': 'y', 'hw:rbd:x': '1'},
            {'RBD:object_size': '3M', ' rbd:object_size': '3M'},
        ):
            self.assertEqual({}, options.ours(items))
            self.assertEqual(options.Values(), _parse(items))

    @ddt.named_data(*[[key, key, *how] for key, how in _GOOD.items()])
    def test_each_key_alone(
        self, key: str, value: str, parsed: dict[str, object]
    ) -> None:
        expected = option_values.level(errors.Origin.BACKEND, **parsed)  # type: ignore[arg-type]
        self.assertEqual(expected, _parse({key: value, 'other': 'x'}))

    def test_every_key_has_a_case_above(self) -> None:
        pair = {'rbd:stripe_unit', 'rbd:stripe_count'}
        self.assertEqual(set(registry.OPTIONS), set(_GOOD) | pair)

    def test_stripe_unit_and_count_are_one_value(self) -> None:
        # The object size may come from another source.
        for unit, striping in (
            ('64K', layout.Striping(64 * KIB, 2)),
            ('8M', layout.Striping(8 * MIB, 2)),
        ):
            pair = {'rbd:stripe_unit': unit, 'rbd:stripe_count': '2'}
            parsed = _parse({'rbd:object_size': '4M', **pair})
            self.assertEqual(
                {keys.OBJECT_SIZE: 4 * MIB, keys.STRIPING: striping}, parsed
            )

    @ddt.data(
        # One without the other, valid or not, or one of both that is invalid.
        ('64K', None, 'rbd:stripe_unit', 'set without rbd:stripe_count'),
        ('3M', None, 'rbd:stripe_unit', 'set without rbd:stripe_count'),
        (None, '8', 'rbd:stripe_count', 'set without rbd:stripe_unit'),
        ('3M', '8', 'rbd:stripe_unit', 'not a power of two'),
        ('64K', '0', 'rbd:stripe_count', 'not a positive whole number'),
        ('0', '0', 'rbd:stripe_unit', 'not a power of two'),
    )
    @ddt.unpack
    def test_half_of_striping_is_refused(
        self, unit: str | None, count: str | None, key: str, reason: str
    ) -> None:
        pair = {'rbd:stripe_unit': unit, 'rbd:stripe_count': count}
        items = {name: text for name, text in pair.items() if text}
        self.assertRefused(
            lambda: _parse({**items, 'rbd:object_size': '4M'}),
            key,
            items[key],
            reason,
            None if unit and count else 'both or neither',
            Origin.VOLUME_TYPE,
        )

    @ddt.data(*_BAD)
    def test_invalid_value_is_refused(self, key: str) -> None:
        for reason, values in _BAD[key].items():
            for value in values:
                self.assertRefused(
                    functools.partial(_parse, {key: value}),
                    key,
                    value,
                    reason,
                    origin=Origin.VOLUME_TYPE,
                )

    def test_error_has_the_origin_and_no_cause(self) -> None:
        for scope, origin in (
            (_VOLUME, Origin.VOLUME_METADATA),
            (_TYPE, Origin.BACKEND),
        ):
            error = self.assertRefused(
                functools.partial(
                    _parse, {'rbd:object_size': '3M'}, scope, origin
                ),
                'rbd:object_size',
                '3M',
                'not a power of two',
                'a power of two from 4 KiB to 32 MiB',
                origin,
            )
            # Without a cause, a logged traceback names the origin only once.
            self.assertIsNone(error.__cause__)
            self.assertTrue(error.__suppress_context__)


@ddt.ddt
class ContradictionTestCase(refusals.RefusalTestCase):
    @ddt.data(
        ('layering,exclusive-lock,object-map', 'true', ''),
        ('layering,exclusive-lock', 'false', ''),
        ('layering', 'true', 'with'),
        ('exclusive-lock,fast-diff,layering,object-map', 'false', 'without'),
    )
    @ddt.unpack
    def test_contradicting_features_and_map_are_refused(
        self, listed: str, object_map: str, word: str
    ) -> None:
        items = {'rbd:features': listed, 'rbd:object_map': object_map}
        if not word:
            _parse(items)
            return
        self.assertRefused(
            lambda: _parse(items),
            'rbd:object_map',
            object_map,
            f'contradicts rbd:features = {listed}',
            f'rbd:features {word} object-map, or only one of the two',
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


class AllowedValuesTestCase(refusals.RefusalTestCase):
    def test_mode_that_is_not_listed_is_refused(self) -> None:
        modes = cache_modes.CacheMode
        safe = 'none, writethrough, writeback, directsync'
        cases: tuple[
            tuple[
                cache_modes.CacheMode,
                tuple[cache_modes.CacheMode, ...] | None,
                str | None,
            ],
            ...,
        ] = (
            *((mode, None, None) for mode in cache_modes.SAFE_CACHE_MODES),
            (modes.UNSAFE, None, safe),
            (modes.UNSAFE, (modes.UNSAFE,), None),
            (
                modes.WRITEBACK,
                (modes.NONE, modes.DIRECTSYNC),
                'none, directsync',
            ),
            (modes.WRITEBACK, (), 'no value'),
        )
        for mode, listed, allowed in cases:
            check = functools.partial(
                options.check_allowed,
                options.of_one_origin(Origin.BACKEND, {keys.CACHE_MODE: mode}),
                operator_limits.Limits(
                    allowed={} if listed is None else {keys.CACHE_MODE: listed}
                ),
            )
            if allowed is None:
                check()
                continue
            self.assertRefused(
                check,
                'rbd:cache_mode',
                mode.value,
                'not allowed by this back end',
                allowed,
                Origin.BACKEND,
            )


@ddt.ddt
class KeyTestCase(refusals.RefusalTestCase):
    def _assert_refused(
        self, key: str, value: str, named: str, reason: str
    ) -> None:
        self.assertRefused(
            lambda: _parse({key: value}, _VOLUME, Origin.VOLUME_METADATA),
            named,
            value,
            reason,
            registry.names(_VOLUME),
            Origin.VOLUME_METADATA,
        )

    @ddt.data(
        *('rbd:stripe_size', 'rbd:', 'rbd:object-size', 'rbd:\x1b[31m'),
        *('rbd:rbd:object_size', 'rbd:x\n2026-01-01 ERROR y'),
        'rbd:\u043ebject_size',
    )
    def test_unknown_key_is_refused(self, key: str) -> None:
        self._assert_refused(key, '4M', ascii(key), 'unknown key')

    def test_long_key_is_shown_shortened(self) -> None:
        named = f"'rbd:{'x' * 60}'... (255 characters)"
        self._assert_refused('rbd:' + 'x' * 251, '4M', named, 'unknown key')

    @ddt.data('rbd:Object_Size', 'rbd:object_size ', 'rbd:\xf8bject_size')
    def test_misspelled_key_names_exact_spelling(self, key: str) -> None:
        reason = 'unknown key; the exact spelling is rbd:object_size'
        self._assert_refused(key, '4M', ascii(key), reason)

    @ddt.data(
        ('rbd:data_pool', 'ec-data'), ('rbd:tenant_options', 'rbd:cache_mode')
    )
    @ddt.unpack
    def test_key_of_types_is_not_for_volumes(
        self, key: str, value: str
    ) -> None:
        _parse({key: value})
        reason = 'not a key of volume metadata'
        self._assert_refused(key, value, key, reason)
