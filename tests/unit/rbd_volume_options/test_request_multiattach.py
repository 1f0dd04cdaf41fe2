# SPDX-License-Identifier: Apache-2.0

import functools
import itertools
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import request
from rbd_volume_options.families import cache_modes
from tests import option_values
from tests.unit.rbd_volume_options import refusals

CacheMode = cache_modes.CacheMode
Origin = errors.Origin

_ASKED = (Origin.VOLUME_METADATA, Origin.VOLUME_TYPE)
_SHARED = 'volumes of a multi-attach type can have several writing clients'
_WITHOUT = 'features without exclusive-lock, fast-diff, journaling, object-map'
_FOR_REPLICATION = 'features with exclusive-lock and journaling'


def _resolved(origin: Origin, **said: Any) -> options.Values:
    return options.resolve([option_values.level(origin, **said)])


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split(','))


@ddt.ddt
class MultiattachTestCase(refusals.RefusalTestCase):
    @ddt.data(*_ASKED)
    def test_object_map(self, origin: Origin) -> None:
        self.assertRefused(
            lambda: request._check_shareable(
                _resolved(origin, object_map=True), True, False
            ),
            'rbd:object_map',
            'true',
            _SHARED,
            'false',
            origin,
        )

    @ddt.named_data(
        ['lock', 'layering,exclusive-lock', 'exclusive-lock'],
        [
            'map',
            'layering,exclusive-lock,object-map,fast-diff',
            'exclusive-lock',
        ],
        [
            'journaling',
            'layering,exclusive-lock,journaling',
            'exclusive-lock',
        ],
        ['all', ','.join(sorted(features.CHOOSABLE)), 'exclusive-lock'],
    )
    def test_features_of_one_client(self, listed: str, name: str) -> None:
        for origin in _ASKED:
            self._refused_for(listed, name, origin)

    @ddt.data(*sorted(features.SINGLE_CLIENT))
    def test_each_alone(self, name: str) -> None:
        # Not a valid set of features; the check does not depend on others.
        listed = ','.join(sorted(('layering', name)))
        self._refused_for(listed, name, Origin.VOLUME_TYPE)

    def _refused_for(self, listed: str, name: str, origin: Origin) -> None:
        self.assertRefused(
            lambda: request._check_shareable(
                _resolved(origin, image_features=_set(listed)), True, False
            ),
            'rbd:features',
            ','.join(sorted(listed.split(','))),
            f'{_SHARED}, and {name} supports only one',
            _WITHOUT,
            origin,
        )

    @ddt.data(*(mode for mode in CacheMode if mode is not CacheMode.NONE))
    def test_cache_mode(self, mode: CacheMode) -> None:
        for origin in _ASKED:
            self.assertRefused(
                functools.partial(
                    request._check_shareable,
                    _resolved(origin, plain={keys.CACHE_MODE: mode}),
                    True,
                    False,
                ),
                'rbd:cache_mode',
                mode.value,
                f'{_SHARED}, whose caches are not coherent',
                'none',
                origin,
            )

    @ddt.named_data(
        ['nothing', {}],
        ['no_map', {'object_map': False}],
        ['the_least', {'image_features': _set('layering')}],
        ['deep_flatten', {'image_features': _set('layering,deep-flatten')}],
        ['no_cache', {'plain': {keys.CACHE_MODE: CacheMode.NONE}}],
        ['layout', {'object_size': 4096, 'striping': layout.Striping(512, 8)}],
        ['data_pool', {'data_pool': 'ec-data'}],
    )
    def test_unlocked_image_may_be_shared(self, said: dict[str, Any]) -> None:
        for origin in _ASKED:
            request._check_shareable(_resolved(origin, **said), True, False)

    @ddt.data(*(origin for origin in Origin if origin not in _ASKED))
    def test_nobody_asked_so_the_type_wins(self, origin: Origin) -> None:
        # The stock driver disables the features of such a volume itself.
        request._check_shareable(
            _resolved(
                origin,
                object_map=True,
                image_features=_set('layering,exclusive-lock,journaling'),
                plain={keys.CACHE_MODE: CacheMode.WRITEBACK},
            ),
            True,
            False,
        )


@ddt.ddt
class ReplicatedTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['neither', 'layering', 'exclusive-lock'],
        ['no_journaling', 'exclusive-lock,layering', 'journaling'],
        [
            'no_journaling_but_a_map',
            'exclusive-lock,fast-diff,layering,object-map',
            'journaling',
        ],
    )
    def test_features_left_out(self, listed: str, name: str) -> None:
        for origin in _ASKED:
            self.assertRefused(
                functools.partial(
                    request._check_shareable,
                    _resolved(origin, image_features=_set(listed)),
                    False,
                    True,
                ),
                'rbd:features',
                listed,
                f'a replicated volume type requires {name}',
                _FOR_REPLICATION,
                origin,
            )

    @ddt.named_data(
        ['nothing', {}],
        [
            'both',
            {'image_features': _set('layering,exclusive-lock,journaling')},
        ],
        # Replication does not depend on the object map; false keeps the lock.
        ['map', {'object_map': True}],
        ['no_map', {'object_map': False}],
        ['cache', {'plain': {keys.CACHE_MODE: CacheMode.WRITEBACK}}],
    )
    def test_journaled_image_may_be_replicated(
        self, said: dict[str, Any]
    ) -> None:
        for origin in _ASKED:
            request._check_shareable(_resolved(origin, **said), False, True)

    @ddt.data(*(origin for origin in Origin if origin not in _ASKED))
    def test_nobody_asked_so_the_type_wins(self, origin: Origin) -> None:
        request._check_shareable(
            _resolved(origin, image_features=_set('layering')), False, True
        )


class OrdinaryTestCase(refusals.RefusalTestCase):
    def test_an_ordinary_type_rules_nothing_out(self) -> None:
        for origin, listed, mode in itertools.product(
            Origin,
            ('layering', ','.join(features.CHOOSABLE)),
            CacheMode,
        ):
            request._check_shareable(
                _resolved(
                    origin,
                    object_map=True,
                    image_features=_set(listed),
                    plain={keys.CACHE_MODE: mode},
                ),
                False,
                False,
            )
