# SPDX-License-Identifier: Apache-2.0

"""Changes of a retype to a volume's keys and image."""

from collections.abc import Collection
import dataclasses
from typing import Any

from cinder import objects
import ddt

from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import retype_plan
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_MIB = 1 << 20
_PAIR = {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '8'}
_LAYOUT_KEYS = (keys.OBJECT_SIZE, *_PAIR)
_LAYOUT = (keys.OBJECT_SIZE, keys.STRIPING)
_LOCKED = {keys.TENANT_OPTIONS: ''}
_FEATURES = frozenset({'layering', 'exclusive-lock'})
_PLAIN = options.image_values(layout.ImageLayout(4 * _MIB), _FEATURES)
_STRIPED = options.image_values(
    layout.ImageLayout(4 * _MIB, layout.Striping(64 << 10, 8)), _FEATURES
)
_POOLED = options.image_values(layout.ImageLayout(4 * _MIB), _FEATURES, 'fast')
_POOLED_STRIPED = _STRIPED.with_values({keys.DATA_POOL: 'fast'})


def _retype(
    metadata: dict[str, str],
    former: dict[str, str],
    specs: dict[str, str],
    settings: backend_settings.BackendSettings,
    size: int = 1,
    requested: Collection[str] = (),
) -> retype_plan.Retype:
    """Return a retype of a volume with some requested parts."""
    origins = {
        part: errors.Origin.VOLUME_METADATA
        if part in requested
        else errors.Origin.CLUSTER
        for part in options.PARTS
    }
    record = image_record.Record(_PLAIN.with_origins(origins))
    volume = cinder_objects.volume(
        metadata,
        objects.VolumeType(extra_specs=former),
        size=size,
    )
    volume.provider_id = record.text(volume.id)
    return retype_plan.Retype(volume, specs, settings)


def _obstacle(
    state: options.Values,
    metadata: dict[str, str],
    former: dict[str, str],
    specs: dict[str, str],
    requested: bool | None = None,
    **more: Any,
) -> errors.OptionError | None:
    if requested is None:
        requested = not {*metadata, *former}.isdisjoint(_LAYOUT_KEYS)
    settings = cinder_objects.settings(**more)
    parts = _LAYOUT if requested else ()
    retype = _retype(metadata, former, specs, settings, requested=parts)
    return retype.make_plan(state).obstacle


@ddt.ddt
class TargetTest(base.TestCase):
    """An image gets the layout of a new volume of the type."""

    def _conversion(
        self,
        state: options.Values,
        metadata: dict[str, str],
        former: dict[str, str],
        specs: dict[str, str],
    ) -> options.Values | None:
        settings = dataclasses.replace(
            cinder_objects.settings(), ceph_features=_FEATURES
        )
        retype = _retype(metadata, former, specs, settings, 1, _LAYOUT)
        return retype.make_plan(state).target

    @ddt.data(
        # The new type. The volume's own keys override it.
        (_PLAIN, {}, {}, _PAIR, _STRIPED),
        (_PLAIN, _PAIR, {}, {keys.STRIPE_UNIT: '1M'}, None),
        (_PLAIN, _PAIR, {}, {}, _STRIPED),
        # A layout that is not allowed is replaced by the default.
        (_STRIPED, _PAIR, {}, _LOCKED, _PLAIN),
        # The data moves only if a type sets a pool.
        (_POOLED, {}, {}, _PAIR, _POOLED_STRIPED),
        (_POOLED, {}, {keys.DATA_POOL: 'fast'}, {}, _PLAIN),
        (_PLAIN, {}, {}, {keys.DATA_POOL: 'fast'}, _POOLED),
    )
    @ddt.unpack
    def test_target_layout_follows_precedence(
        self, state: Any, metadata: Any, former: Any, specs: Any, target: Any
    ) -> None:
        if target is None:
            specs = {**specs, keys.STRIPE_COUNT: '3'}
            target = _STRIPED
        conversion = self._conversion(state, metadata, former, specs)
        self.assertEqual(target, conversion)

    def test_origin_of_new_striping_is_the_type(self) -> None:
        conversion = self._conversion(_PLAIN, {}, {}, _PAIR)
        self.assertEqual(
            errors.Origin.VOLUME_TYPE,
            conversion and conversion.origin(keys.STRIPING),
        )

    @ddt.data(
        ({'multiattach': '<is> True'}, {}),
        ({}, {'multiattach': '<is> True'}),
        ({}, {'replication_enabled': '<is> True'}),
    )
    @ddt.unpack
    def test_shared_and_replicated_volumes_are_not_converted(
        self, former: Any, specs: Any
    ) -> None:
        """The stock driver changes features itself."""
        conversion = self._conversion(
            _PLAIN,
            {},
            former,
            {**_PAIR, **specs},
        )
        self.assertIsNone(conversion)


_FAST = {keys.DATA_POOL: 'fast'}
_MAPPED = options.image_values(
    layout.ImageLayout(64 << 10), _FEATURES | {'object-map', 'fast-diff'}
)
_SMALL = {keys.OBJECT_SIZE: '64K'}
_STRIPES: dict[str, Any] = {
    'rbd_volume_stripe_unit': '64K',
    'rbd_volume_stripe_count': 8,
}
_FEW: dict[str, Any] = {'rbd_max_objects': 1 << 14}
_SHARED = {'multiattach': '<is> True'}
_PAIR_KEYS = (keys.STRIPE_UNIT, keys.STRIPE_COUNT)

#: The image, metadata, former type, new type, settings, whether the layout was
#: requested (None: if a key says so), and the keys of which one is named.
_OBSTACLES: tuple[tuple[Any, ...], ...] = (
    # The data pool is always that of the new type or the back end.
    (_POOLED, {}, _FAST, {}, {}, None, [keys.DATA_POOL]),
    (
        *(_POOLED, {}, _FAST, {keys.DATA_POOL: 'slow'}, {}, None),
        [keys.DATA_POOL],
    ),
    (
        *(_POOLED, {}, _FAST, {}, {'rbd_volume_data_pool': 'slow'}, None),
        [keys.DATA_POOL],
    ),
    (_POOLED, {}, {}, {}, {}, None, []),
    (_POOLED, {}, _FAST, _FAST, {}, None, []),
    (_POOLED, {}, _FAST, {}, {'rbd_volume_data_pool': 'fast'}, None, []),
    (_POOLED, {}, {}, {}, {'rbd_volume_data_pool': 'slow'}, None, []),
    # A requested layout is kept if the new type allows requesting it.
    (_STRIPED, _PAIR, {}, _LOCKED, {}, None, _PAIR_KEYS),
    (_STRIPED, {}, _PAIR, _LOCKED, {}, None, _PAIR_KEYS),
    (_STRIPED, {}, {}, _LOCKED, {}, True, _PAIR_KEYS),
    (
        *(_STRIPED, {}, {}, {keys.TENANT_OPTIONS: keys.STRIPE_UNIT}, {}),
        *(True, _PAIR_KEYS),
    ),
    (
        *(_STRIPED, {}, _PAIR, {}, {'rbd_max_stripe_count': 4}, None),
        _PAIR_KEYS,
    ),
    (_STRIPED, _PAIR, {}, {}, {}, None, []),
    (_STRIPED, {}, _PAIR, {}, {}, None, []),
    # The new type requests the layout itself.
    (_STRIPED, {}, _PAIR, {**_PAIR, **_LOCKED}, {}, None, []),
    (_STRIPED, _PAIR, {}, {**_PAIR, **_LOCKED}, {}, None, []),
    # A default of ceph.conf, which was not requested.
    (_STRIPED, {}, {}, _LOCKED, {}, False, []),
    # What a new volume would have.
    (_STRIPED, {}, _PAIR, _LOCKED, _STRIPES, None, []),
    # A stripe count of 1 is a request, too, if the back end stripes.
    (
        _PLAIN,
        {keys.STRIPE_UNIT: '4M', keys.STRIPE_COUNT: '1'},
        *({}, _LOCKED, _STRIPES, None, _PAIR_KEYS),
    ),
    # Without an object map, an image may have fewer objects.
    (_MAPPED, _SMALL, {}, {}, _FEW, None, []),
    (_MAPPED, _SMALL, {}, _SHARED, _FEW, None, [keys.OBJECT_SIZE]),
    (
        *(_MAPPED, _SMALL, {}, {keys.OBJECT_MAP: 'false'}, _FEW, None),
        [keys.OBJECT_SIZE],
    ),
)


@ddt.ddt
class ObstacleTest(base.TestCase):
    @ddt.data(*_OBSTACLES)
    @ddt.unpack
    def test_what_the_image_cannot_keep_is_an_obstacle(
        self,
        state: options.Values,
        metadata: dict[str, str],
        former: dict[str, str],
        specs: dict[str, str],
        settings: dict[str, Any],
        requested: bool | None,
        named: Any,
    ) -> None:
        obstacle = _obstacle(
            state, metadata, former, specs, requested, **settings
        )
        self.assertIs(bool(named), obstacle is not None)
        if obstacle:
            self.assertIn(obstacle.key, named)

    def test_type_that_can_not_be_met(self) -> None:
        self.assertRaises(
            errors.OptionError,
            _obstacle,
            _PLAIN,
            {},
            {},
            {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '3'},
        )


_DEFAULT = frozenset({'layering', 'exclusive-lock', 'object-map', 'fast-diff'})
_BARE = options.image_values(
    layout.ImageLayout(4 * _MIB), frozenset({'layering', 'journaling'})
)


@ddt.ddt
class DefaultFeaturesTest(base.TestCase):
    """Requested features are reset if tenants may not request features."""

    def _change(
        self,
        specs: dict[str, str],
        state: options.Values = _BARE,
        requested: bool = True,
        size: int = 1,
    ) -> retype_plan.RetypePlan:
        settings = dataclasses.replace(
            cinder_objects.settings(), ceph_features=_DEFAULT
        )
        parts = [keys.FEATURES] if requested else []
        retype = _retype({}, {}, specs, settings, size, parts)
        return retype.make_plan(state)

    def test_to_the_defaults(self) -> None:
        change = self._change(_LOCKED)
        self.assertTrue(change.to_default)
        self.assertEqual(_DEFAULT - {'layering'}, change.enable)
        self.assertEqual({'journaling'}, change.disable)

    @ddt.data(
        ({}, True),
        ({keys.TENANT_OPTIONS: keys.OBJECT_MAP}, True),
        # Mirroring requires the feature journaling.
        ({**_LOCKED, 'replication_enabled': '<is> True'}, True),
        # Earlier defaults of ceph.conf, or features of a managed image.
        (_LOCKED, False),
    )
    @ddt.unpack
    def test_they_stay(self, specs: Any, requested: bool) -> None:
        change = self._change(specs, requested=requested)
        self.assertFalse(change.to_default or change.enable or change.disable)

    def test_the_new_type_requests_some(self) -> None:
        change = self._change({**_LOCKED, keys.FEATURES: 'layering'})
        self.assertFalse(change.to_default)
        self.assertEqual({'journaling'}, change.disable)

    def test_too_large_for_a_map(self) -> None:
        tiny = options.image_values(
            layout.ImageLayout(4096), _BARE.image_features
        )
        change = self._change(_LOCKED, tiny, size=64 << 10)
        self.assertEqual({'exclusive-lock'}, change.enable)
