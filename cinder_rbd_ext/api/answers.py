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

"""The allowed values and defaults of each key, for clients that ask.

The schema is ``schemas/options.json``.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from typing import Any
from typing import TypeVar

from cinder_rbd_ext.api import offers
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import precedence
from rbd_volume_options import sharing
from rbd_volume_options import wire

Answer = dict[str, Any]
T = TypeVar('T')
Origin = errors.Origin

_SIZE = {'type': 'size', wire.POWER_OF_TWO: True}
_BOUNDS: dict[str, Answer] = {
    keys.OBJECT_SIZE: {
        **_SIZE,
        'minimum': layout.MIN_OBJECT_SIZE,
        'maximum': layout.MAX_OBJECT_SIZE,
    },
    keys.STRIPE_UNIT: {
        **_SIZE,
        'minimum': layout.MIN_STRIPE_UNIT,
        'maximum': layout.MAX_OBJECT_SIZE,
        wire.TOGETHER_WITH: [keys.STRIPE_COUNT],
    },
    keys.STRIPE_COUNT: {
        'type': 'count',
        'minimum': 1,
        wire.TOGETHER_WITH: [keys.STRIPE_UNIT],
    },
    keys.OBJECT_MAP: {'type': 'boolean'},
    keys.FEATURES: {'type': 'features', 'required': [features.LAYERING]},
    keys.CACHE_MODE: {'type': 'word'},
    keys.DATA_POOL: {'type': 'pool'},
}


def of_type(
    volume_type: Any,
    offer: offers.TypeOffer,
    settable: Collection[str],
    shows_pools: bool = True,
) -> Answer:
    """Return the response for a volume type.

    :param settable: the keys that the policy lets the caller set
    :param shows_pools: whether the caller may see the names of pools
    """
    answer: Answer = {
        'id': volume_type['id'],
        'name': volume_type['name'],
        wire.SUPPORTED: False,
        'reason': offer.reason,
        'options': {},
    }
    if offer.reason:
        return answer
    try:
        defaults = offer.defaults()
        allowed = offer.tenant_options & frozenset(settable)
    except errors.OptionError as error:
        # Extra specs that were set without this extension.
        answer['reason'] = str(error)
        return answer
    answer[wire.SUPPORTED] = True
    answer[wire.REQUIRE_WHOLE_STRIPES] = any(
        each.limits.require_whole_stripes for each in offer.settings
    )
    for key, bounds in _BOUNDS.items():
        value, origin = _default(key, defaults, offer.multiattach)
        if key == keys.DATA_POOL and not shows_pools:
            value, origin = None, None
        answer['options'][key] = {
            'summary': keys.KEYS[key].summary,
            wire.SETTABLE: key in allowed,
            wire.FIXED_AT_CREATION: keys.KEYS[key].fixed,
            'default': value,
            wire.DEFAULT_FROM: origin.label if origin else None,
            **bounds,
            **_of_backends(key, offer),
        }
    if shows_pools:
        answer['options'][keys.DATA_POOL][wire.WRITABLE] = offer.data_pools
    return answer


def _of_backends(key: str, offer: offers.TypeOffer) -> Answer:
    """Return the narrowest bounds of the back ends and the type."""
    bounds = [each.limits for each in offer.settings]
    if key == keys.OBJECT_SIZE:
        return {
            'minimum': max(each.min_object_size for each in bounds),
            wire.MAXIMUM_OBJECTS: min(each.max_objects for each in bounds),
        }
    if key == keys.STRIPE_COUNT:
        return {'maximum': min(each.max_stripe_count for each in bounds)}
    if key == keys.CACHE_MODE:
        modes = set(cache_modes.CacheMode)
        modes.intersection_update(*(each.cache_modes for each in bounds))
        if offer.multiattach:
            modes &= {sharing.MULTIATTACH_CACHE_MODE}
        return {
            'allowed': [m.value for m in cache_modes.CacheMode if m in modes]
        }
    if key == keys.OBJECT_MAP:
        return {'allowed': [False] if offer.multiattach else [False, True]}
    if key == keys.FEATURES:
        chosen = features.CHOOSABLE
        if offer.multiattach:
            chosen -= features.SINGLE_CLIENT
        return {
            'allowed': sorted(chosen),
            'requires': {
                name: list(features.FEATURES[name].requires)
                for name in sorted(chosen)
                if features.FEATURES[name].requires
            },
        }
    return {}


def _default(
    key: str, defaults: list[precedence.Resolved], multiattach: bool
) -> tuple[Any, Origin | None]:
    """Return the default of a key and its source.

    Both are None if the back ends differ, or if Ceph's configuration decides
    and the back end has not reported it. A source without a value means that
    volumes are not striped.
    """
    found = [_VALUES[key](each) for each in defaults]
    if multiattach:
        found = [_shared(key, each) for each in found]
    if any(each != found[0] for each in found):
        return None, None
    return found[0]


Found = tuple[Any, Origin | None]


def _shared(key: str, found: Found) -> Found:
    """Return a default as changed by a multi-attach type."""
    value, origin = found
    if key == keys.CACHE_MODE:
        return sharing.MULTIATTACH_CACHE_MODE.value, Origin.VOLUME_TYPE
    if key == keys.OBJECT_MAP:
        return False, Origin.VOLUME_TYPE
    if key == keys.FEATURES and value is not None:
        return sorted(frozenset(value) - features.SINGLE_CLIENT), origin
    return found


def _plain(
    choice: precedence.Choice[T] | None, shown: Callable[[T], Any]
) -> Found:
    if choice is None:
        return None, None
    value = None if choice.value is None else shown(choice.value)
    return value, choice.origin


def _features(resolved: precedence.Resolved) -> Found:
    chosen = resolved.image_features
    if chosen is None:
        return None, None
    return sorted(resolved.features_over(chosen.value)), chosen.origin


def _object_map(resolved: precedence.Resolved) -> Found:
    if resolved.object_map:
        return resolved.object_map.value, resolved.object_map.origin
    return _plain(
        resolved.image_features, lambda chosen: features.OBJECT_MAP in chosen
    )


_VALUES: dict[str, Callable[[precedence.Resolved], Found]] = {
    keys.OBJECT_SIZE: lambda r: _plain(r.object_size, int),
    keys.STRIPE_UNIT: lambda r: _plain(
        r.striping, lambda s: s.unit if s else None
    ),
    keys.STRIPE_COUNT: lambda r: _plain(
        r.striping, lambda s: s.count if s else None
    ),
    keys.OBJECT_MAP: _object_map,
    keys.FEATURES: _features,
    keys.CACHE_MODE: lambda r: _plain(r.cache_mode, lambda mode: mode.value),
    keys.DATA_POOL: lambda r: _plain(r.data_pool, str),
}


def of_types(answers: Iterable[Answer]) -> Answer:
    """Return the response for several types, sorted by name."""
    return {
        'volume_types': sorted(answers, key=lambda each: str(each['name']))
    }
