# SPDX-License-Identifier: Apache-2.0

import functools
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import request
from rbd_volume_options.families import cache_modes
from tests.unit.cinder_rbd_ext import cinder_objects
from tests.unit.rbd_volume_options import refusals

CacheMode = cache_modes.CacheMode
Origin = errors.Origin

_SHARED = 'volumes of a multi-attach type can have several writing clients'
_ALL = ','.join(sorted(features.CHOOSABLE))


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split(','))


@ddt.ddt
class SharedTypeTestCase(refusals.RefusalTestCase):
    """Multi-attach and replicated types rule out what is requested.

    The stock driver itself changes the features that nobody requested.
    """

    def _check(
        self,
        values: dict[str, Any],
        reason: str = '',
        allowed: str | None = None,
        multiattach: bool = False,
        replicated: bool = False,
    ) -> None:
        for origin in Origin:
            requested = request.Request(
                (options.of_one_origin(origin, values),),
                cinder_objects.settings(),
                multiattach,
                replicated,
            )
            resolve = functools.partial(
                requested.resolve, options.Values(), backend_too=True
            )
            if not reason or origin not in errors.ASKED:
                resolve()
                continue
            (key,) = values
            value = values[key]
            text = {True: 'true', False: 'false'}.get(value)
            if key == keys.FEATURES:
                text = features.joined(value)
            self.assertRefused(
                resolve,
                key,
                text or value.value,
                reason,
                allowed,
                origin,
            )

    @ddt.data(
        *(f'layering,{name}' for name in sorted(features.SINGLE_CLIENT)),
        _ALL,
    )
    def test_shared_image_has_no_feature_of_one_client(
        self, listed: str
    ) -> None:
        # A set need not be valid; the check does not depend on that.
        name = min(_set(listed) & features.SINGLE_CLIENT)
        self._check(
            {keys.FEATURES: _set(listed)},
            f'{_SHARED}, and {name} supports only one',
            'features without exclusive-lock, fast-diff, journaling, '
            'object-map',
            multiattach=True,
        )

    def test_shared_image_has_neither_map_nor_cache(self) -> None:
        self._check(
            {keys.OBJECT_MAP: True}, _SHARED, 'false', multiattach=True
        )
        for mode in set(CacheMode) - {CacheMode.NONE}:
            self._check(
                {keys.CACHE_MODE: mode},
                f'{_SHARED}, whose caches are not coherent',
                'none',
                multiattach=True,
            )

    @ddt.data(
        {},
        {keys.OBJECT_MAP: False},
        {keys.FEATURES: _set('layering,deep-flatten')},
        {keys.CACHE_MODE: CacheMode.NONE},
        {keys.OBJECT_SIZE: 4096, keys.STRIPING: layout.Striping(512, 8)},
        {keys.DATA_POOL: 'ec-data'},
    )
    def test_unlocked_image_may_be_shared(
        self, values: dict[str, Any]
    ) -> None:
        self._check(values, multiattach=True)

    @ddt.data(
        ('layering', 'exclusive-lock'),
        ('exclusive-lock,layering', 'journaling'),
        ('exclusive-lock,fast-diff,layering,object-map', 'journaling'),
    )
    @ddt.unpack
    def test_replicated_image_requires_journaling(
        self, listed: str, name: str
    ) -> None:
        self._check(
            {keys.FEATURES: _set(listed)},
            f'a replicated volume type requires {name}',
            'features with exclusive-lock and journaling',
            replicated=True,
        )

    @ddt.data(
        {},
        {keys.FEATURES: _set('layering,exclusive-lock,journaling')},
        # Replication does not depend on the object map; false keeps the lock.
        {keys.OBJECT_MAP: True},
        {keys.OBJECT_MAP: False},
        {keys.CACHE_MODE: CacheMode.WRITEBACK},
    )
    def test_journaled_image_may_be_replicated(
        self, values: dict[str, Any]
    ) -> None:
        self._check(values, replicated=True)

    def test_an_ordinary_type_rules_nothing_out(self) -> None:
        for listed in ('layering', _ALL):
            for mode in CacheMode:
                self._check(
                    {
                        keys.FEATURES: _set(listed),
                        keys.OBJECT_MAP: True,
                        keys.CACHE_MODE: mode,
                    }
                )
