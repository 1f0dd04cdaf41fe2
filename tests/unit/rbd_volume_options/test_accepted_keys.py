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

_SIZE, _MAP = keys.OBJECT_SIZE, keys.OBJECT_MAP

#: Volume metadata, extra specs, back-end options, keys that are dropped.
_CASES: tuple[
    tuple[dict[str, str], dict[str, str], dict[str, Any], set[str]], ...
] = (
    ({**_PAIR, _MAP: 'true'}, {}, {}, set()),
    (
        {_SIZE: '1M', keys.CACHE_MODE: 'none'},
        {keys.TENANT_OPTIONS: keys.CACHE_MODE},
        *({}, {_SIZE}),
    ),
    # A pair is dropped as a whole.
    (_PAIR, {keys.TENANT_OPTIONS: keys.STRIPE_UNIT}, {}, set(_PAIR)),
    (_PAIR, {}, {'rbd_max_stripe_count': 4}, set(_PAIR)),
    ({**_PAIR, keys.STRIPE_COUNT: '3'}, {}, {}, set(_PAIR)),
    (
        {keys.CACHE_MODE: 'unsafe', _SIZE: '1M'},
        *({}, {}, {keys.CACHE_MODE}),
    ),
    (
        {**_PAIR, _MAP: 'true', keys.CACHE_MODE: 'writeback'},
        *(_SHARED, {}, {_MAP, keys.CACHE_MODE}),
    ),
    (
        {keys.FEATURES: 'layering,exclusive-lock'},
        *(_SHARED, {}, {keys.FEATURES}),
    ),
    ({'rbd:other': '1', **_PAIR}, {}, {}, {'rbd:other'}),
    ({_SIZE: '3M', _MAP: 'true'}, {}, {}, {_SIZE}),
    # Both keys of a contradiction.
    ({_MAP: 'true', keys.FEATURES: 'layering'}, {}, {}, {_MAP, keys.FEATURES}),
    # A size that the stripe unit of the type does not divide.
    (
        {_SIZE: '1M'},
        {keys.STRIPE_UNIT: '2M', keys.STRIPE_COUNT: '2'},
        *({}, {_SIZE}),
    ),
)


@ddt.ddt
class OfTypeTest(base.TestCase):
    @ddt.data(*_CASES)
    @ddt.unpack
    def test_keys_that_type_refuses_are_dropped(
        self,
        metadata: dict[str, str],
        specs: dict[str, str],
        options: dict[str, Any],
        dropped: set[str],
    ) -> None:
        accepted = accepted_keys.accepted_by_type(
            {'colour': 'blue', **metadata},
            specs,
            cinder_objects.settings(**options),
            1,
        )
        self.assertEqual(dropped, set(accepted.dropped))
        kept = {k: v for k, v in metadata.items() if k not in dropped}
        self.assertEqual(kept, accepted.kept)

    def test_back_end_that_is_not_ours(self) -> None:
        accepted = accepted_keys.accepted_by_type(_PAIR, {}, None, 1)
        self.assertEqual(set(_PAIR), set(accepted.dropped))
        self.assertEqual({}, accepted.kept)

    def test_type_that_can_not_be_met(self) -> None:
        """An invalid type is refused; no key is dropped because of it."""
        error = self.assertRaises(
            errors.OptionError,
            accepted_keys.accepted_by_type,
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
        metadata = {**_PAIR, keys.CACHE_MODE: 'unsafe'}
        accepted = accepted_keys.accepted_by_type(
            metadata, {}, settings, 1, as_is=True
        )
        self.assertEqual(_PAIR, accepted.kept)
        self.assertEqual({keys.CACHE_MODE}, set(accepted.dropped))

    def test_reasons_are_one_line_each(self) -> None:
        accepted = accepted_keys.accepted_by_type(
            {'rbd:a\n"b': '1', keys.OBJECT_SIZE: '1M'},
            {keys.TENANT_OPTIONS: ''},
            cinder_objects.settings(),
            1,
        )
        self.assertIn('rbd:object_size (tenants may not', accepted.reasons)
        self.assertNotIn('\n', accepted.reasons)


def _anything(metadata: Mapping[str, str], added: frozenset[str]) -> None:
    """Allow all keys."""


def _nothing(metadata: Mapping[str, str], added: frozenset[str]) -> None:
    raise errors.OptionError('rbd:x', 'y', 'not allowed', 'nothing')


@ddt.ddt
class RestoredKeysTest(base.TestCase):
    def test_own_win(self) -> None:
        restored = accepted_keys.after_restore(
            _PAIR, {keys.STRIPE_COUNT: '2', 'x': 'y'}, _anything
        )
        self.assertEqual({**_PAIR, 'x': 'y'}, restored)

    def test_others_are_checked_with_them(self) -> None:
        seen: list[tuple[Mapping[str, str], frozenset[str]]] = []
        came = {keys.CACHE_MODE: 'none'}
        restored = accepted_keys.after_restore(
            _PAIR, came, lambda *arguments: seen.append(arguments)
        )
        self.assertEqual(
            [({**_PAIR, **came}, frozenset({keys.CACHE_MODE}))], seen
        )
        self.assertEqual({**_PAIR, **came}, restored)

    def test_pair_is_checked_as_one(self) -> None:
        seen: list[tuple[Mapping[str, str], frozenset[str]]] = []
        accepted_keys.after_restore(
            {}, _PAIR, lambda *arguments: seen.append(arguments)
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
