# SPDX-License-Identifier: Apache-2.0

"""The keys of a volume that a volume type accepts."""

from collections.abc import Mapping
from typing import Any

import ddt

from rbd_volume_options import accepted_keys
from rbd_volume_options import errors
from rbd_volume_options import keys
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_PAIR = {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '8'}
_SHARED = {'multiattach': '<is> True'}

#: Volume metadata, extra specs, back-end options, keys that are dropped.
_CASES: dict[
    str, tuple[dict[str, str], dict[str, str], dict[str, Any], set[str]]
] = {
    'all': ({**_PAIR, keys.OBJECT_MAP: 'true'}, {}, {}, set()),
    'not_a_tenants': (
        {keys.OBJECT_SIZE: '1M', keys.CACHE_MODE: 'none'},
        {keys.TENANT_OPTIONS: keys.CACHE_MODE},
        {},
        {keys.OBJECT_SIZE},
    ),
    'half_a_pair': (
        _PAIR,
        {keys.TENANT_OPTIONS: keys.STRIPE_UNIT},
        {},
        set(_PAIR),
    ),
    'stripe_count': (_PAIR, {}, {'rbd_max_stripe_count': 4}, set(_PAIR)),
    'whole_stripes': (
        {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'},
        {},
        {},
        set(_PAIR),
    ),
    'cache_mode': (
        {keys.CACHE_MODE: 'unsafe', keys.OBJECT_SIZE: '1M'},
        {},
        {},
        {keys.CACHE_MODE},
    ),
    'multiattach': (
        {
            **_PAIR,
            keys.OBJECT_MAP: 'true',
            keys.CACHE_MODE: 'writeback',
        },
        _SHARED,
        {},
        {keys.OBJECT_MAP, keys.CACHE_MODE},
    ),
    'multiattach_features': (
        {keys.FEATURES: 'layering,exclusive-lock'},
        _SHARED,
        {},
        {keys.FEATURES},
    ),
    'unknown': ({'rbd:other': '1', **_PAIR}, {}, {}, {'rbd:other'}),
    'malformed': (
        {keys.OBJECT_SIZE: '3M', keys.OBJECT_MAP: 'true'},
        {},
        {},
        {keys.OBJECT_SIZE},
    ),
    'contradiction': (
        {keys.OBJECT_MAP: 'true', keys.FEATURES: 'layering'},
        {},
        {},
        {keys.OBJECT_MAP, keys.FEATURES},
    ),
    'size_that_the_types_unit_does_not_divide': (
        {keys.OBJECT_SIZE: '1M'},
        {keys.STRIPE_UNIT: '2M', keys.STRIPE_COUNT: '2'},
        {},
        {keys.OBJECT_SIZE},
    ),
}


@ddt.ddt
class OfTypeTest(base.TestCase):
    @ddt.data(*_CASES)
    def test_keys_that_type_refuses_are_dropped(self, case: str) -> None:
        given, specs, options, dropped = _CASES[case]
        found = accepted_keys.of_type(
            {'colour': 'blue', **given},
            specs,
            cinder_objects.settings(**options),
            1,
        )
        self.assertEqual(dropped, set(found.dropped))
        kept = {k: v for k, v in given.items() if k not in dropped}
        self.assertEqual(kept, found.kept)

    def test_back_end_that_is_not_ours(self) -> None:
        found = accepted_keys.of_type(_PAIR, {}, None, 1)
        self.assertEqual(set(_PAIR), set(found.dropped))
        self.assertEqual({}, found.kept)

    def test_type_that_can_not_be_met(self) -> None:
        """An invalid type is refused; no key is dropped because of it."""
        error = self.assertRaises(
            errors.OptionError,
            accepted_keys.of_type,
            {keys.OBJECT_MAP: 'true'},
            {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'},
            cinder_objects.settings(),
            1,
        )
        self.assertEqual(keys.STRIPE_COUNT, error.key)

    def test_as_it_is(self) -> None:
        """Keep keys that match the image; drop a mode that is not allowed."""
        settings = cinder_objects.settings(
            rbd_max_stripe_count=4, rbd_tenant_options=''
        )
        given = {**_PAIR, keys.CACHE_MODE: 'unsafe'}
        found = accepted_keys.of_type(given, {}, settings, 1, as_is=True)
        self.assertEqual(_PAIR, found.kept)
        self.assertEqual({keys.CACHE_MODE}, set(found.dropped))

    def test_reasons_are_one_line_each(self) -> None:
        found = accepted_keys.of_type(
            {'rbd:a\n"b': '1', keys.OBJECT_SIZE: '1M'},
            {keys.TENANT_OPTIONS: ''},
            cinder_objects.settings(),
            1,
        )
        self.assertIn('rbd:object_size (tenants may not', found.reasons)
        self.assertNotIn('\n', found.reasons)


_PAIR = {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '8'}


def _anything(metadata: Mapping[str, str], added: frozenset[str]) -> None:
    """Allow all keys."""


def _nothing(metadata: Mapping[str, str], added: frozenset[str]) -> None:
    raise errors.OptionError('rbd:x', 'y', 'not allowed', 'nothing')


@ddt.ddt
class RestoredKeysTest(base.TestCase):
    def test_own_win(self) -> None:
        found = accepted_keys.after_restore(
            _PAIR, {keys.STRIPE_COUNT: '2', 'x': 'y'}, _anything
        )
        self.assertEqual({**_PAIR, 'x': 'y'}, found)

    def test_others_are_checked_with_them(self) -> None:
        seen: list[tuple[Mapping[str, str], frozenset[str]]] = []
        came = {keys.CACHE_MODE: 'none'}
        found = accepted_keys.after_restore(
            _PAIR, came, lambda *asked: seen.append(asked)
        )
        self.assertEqual(
            [({**_PAIR, **came}, frozenset({keys.CACHE_MODE}))], seen
        )
        self.assertEqual({**_PAIR, **came}, found)

    def test_pair_is_checked_as_one(self) -> None:
        seen: list[tuple[Mapping[str, str], frozenset[str]]] = []
        accepted_keys.after_restore(
            {}, _PAIR, lambda *asked: seen.append(asked)
        )
        self.assertEqual([(_PAIR, frozenset(_PAIR))], seen)

    def test_keys_that_cannot_be_restored_are_dropped(self) -> None:
        self.assertEqual(
            {'x': 'y'},
            accepted_keys.after_restore({}, {**_PAIR, 'x': 'y'}, _nothing),
        )

    @ddt.data(
        'RBD:object_size', ' rbd:object_size', 'rbd\uff1aobject_size', 'rbd:x'
    )
    def test_what_only_looks_like_ours(self, key: str) -> None:
        self.assertEqual(
            {}, accepted_keys.after_restore({}, {key: '1'}, _anything)
        )
