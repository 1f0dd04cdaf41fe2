# SPDX-License-Identifier: Apache-2.0

"""Random volumes: sizes, layouts and features around each rule's limits.

Values are drawn as numbers and written as a tenant writes them. The package
under test is not used here.
"""

from collections.abc import Callable
import dataclasses
import random
from typing import Any

from tests import feature_bits

GIB = 2**30
PIB = 2**50

#: Bits of the features that can be requested.
BITS = {
    'layering': feature_bits.LAYERING,
    'exclusive-lock': feature_bits.LOCK,
    'object-map': feature_bits.OBJECT_MAP,
    'fast-diff': feature_bits.FAST_DIFF,
    'deep-flatten': feature_bits.DEEP_FLATTEN,
    'journaling': feature_bits.JOURNALING,
}
MAP = feature_bits.OBJECT_MAP
FAST_DIFF = feature_bits.FAST_DIFF
LOCK = feature_bits.LOCK
_CHOOSABLE = sum(BITS.values())

#: cls::rbd::MAX_OBJECT_MAP_OBJECT_COUNT
MAP_LIMIT = 256_000_000

#: Values of rbd_default_features; stock Cinder passes it explicitly.
#: All contain layering: without it, no volume of the back end can be cloned.
_DEFAULTS = (
    feature_bits.LAYERING,
    feature_bits.LAYERING | LOCK,
    feature_bits.LAYERING | LOCK | MAP | FAST_DIFF,
    feature_bits.LAYERING | feature_bits.DEEP_FLATTEN,
    feature_bits.DEFAULT,
    feature_bits.LAYERING | LOCK | feature_bits.JOURNALING,
    feature_bits.DEFAULT | feature_bits.JOURNALING,
)
_STOCK_ORDER = 22

#: Valid orders twice, as most cases should fail for another reason.
_ORDERS: tuple[int, ...] = (*range(12, 26), *range(12, 26), 0, 10, 11, 26, 27)

# librbd writes the whole object map when it creates an image, two bits for
# each object. This takes seconds for large maps, so most are dropped.
_HEAVY = 2_000_000
_KEEP_HEAVY = 0.01


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The properties of an RBD image as librbd's numbers."""

    order: int
    unit: int
    count: int
    features: int


@dataclasses.dataclass(frozen=True)
class Case:
    """The request for one volume; None for unset values.

    :ivar items: the same request, as metadata
    :ivar stock_features: features that the stock driver would pass
    :ivar parent: the parent, if the volume is a clone
    """

    size: int
    order: int | None
    unit: int | None
    count: int | None
    names: tuple[str, ...] | None
    object_map: bool | None
    items: dict[str, str]
    stock_features: int
    parent: Numbers | None = None

    @property
    def features(self) -> int:
        """The mask of the requested features."""
        mask = self.stock_features
        if self.parent:
            mask = self.parent.features & _CHOOSABLE
        if self.names is not None:
            mask = sum({BITS[name] for name in self.names})
        if self.object_map:
            mask |= LOCK | MAP | FAST_DIFF
        elif self.object_map is False:
            mask &= ~(MAP | FAST_DIFF)
        return mask

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of librbd for the same request."""
        arguments: dict[str, Any] = {
            'order': self._order,
            'features': self.features,
        }
        if self.unit is not None:
            arguments['stripe_unit'] = self.unit
        if self.count is not None:
            arguments['stripe_count'] = self.count
        if self.parent and self.unit is None and self.count is None:
            # A clone needs explicit striping, else librbd mixes the parent's
            # with the requested order.
            made = self.expected
            arguments.update(stripe_unit=made.unit, stripe_count=made.count)
        return arguments

    @property
    def expected(self) -> Numbers:
        """The expected image, without the feature bits that librbd adds."""
        unit, count = 1 << self._order, 1
        if self.parent and (self.parent.unit, self.parent.count) != (
            1 << self.parent.order,
            1,
        ):
            unit, count = self.parent.unit, self.parent.count
        return Numbers(
            self._order,
            unit if self.unit is None else self.unit,
            count if self.count is None else self.count,
            self.features,
        )

    @property
    def _order(self) -> int:
        if self.order is not None:
            return self.order
        return self.parent.order if self.parent else _STOCK_ORDER


def draw(seed: int, number: int, parent: Numbers | None = None) -> Case:
    """Draw a case, which depends only on the seed, number and parent."""
    rng = random.Random(f'{seed}/{number}')
    while True:
        order = _order(rng) if rng.random() < 0.7 else None
        known = parent.order if parent else _STOCK_ORDER
        unit, count = _pair(rng, known if order is None else order)
        names = _names(rng) if rng.random() < 0.5 else None
        object_map = rng.choice((None, None, None, True, False))
        case = Case(
            size=0,
            order=order,
            unit=unit,
            count=count,
            names=names,
            object_map=object_map,
            items=_written(rng, order, unit, count, names, object_map),
            stock_features=rng.choice(_DEFAULTS),
            parent=parent,
        )
        # An empty request leaves the image to the stock driver.
        if case.items:
            return dataclasses.replace(case, size=_size(rng, case))


def at_the_limit() -> list[Case]:
    """Return volumes at the limit of the object map and just above it.

    Random volumes rarely have so many objects.
    """
    cases = []
    for order, unit, count, more in (
        (12, 1 << 12, 1, 0),
        (12, 1 << 12, 1, 1),
        (12, 512, 7, 0),
        (12, 512, 7, 1),
        (25, 1 << 25, 1, 1),
    ):
        written = {
            'rbd:object_size': str(1 << order),
            'rbd:stripe_unit': str(unit),
            'rbd:stripe_count': str(count),
            'rbd:object_map': 'true',
        }
        case = Case(
            0, order, unit, count, None, True, written, BITS['layering']
        )
        size = _limit(case) + more
        cases.append(dataclasses.replace(case, size=size))
    return cases


def has_heavy_map(case: Case) -> bool:
    """Return whether librbd would take long to create the image."""
    made = case.expected
    if not made.features & MAP or not made.order or not made.unit:
        return False
    # An upper bound: each unit of the last object set may use another object.
    objects = (case.size >> made.order) + min(
        made.count, case.size // made.unit
    )
    # Images above the limit are refused before the map is written.
    return objects > _HEAVY and case.size <= _limit(case)


def _order(rng: random.Random) -> int:
    return rng.choice(_ORDERS)


def _pair(rng: random.Random, order: int) -> tuple[int | None, int | None]:
    which = rng.random()
    unit = _unit(rng, order)
    count = rng.choice(
        (
            *(0, 1, 1, 2, 3, 4, 8, 16, 64, 100_000),
            *(rng.randrange(1, 100_001) for _ in range(6)),
            rng.choice((2**31 - 1, 2**31, 2**32 + 1)),
        )
    )
    if which < 0.3:
        return None, None
    if which < 0.34:
        return unit, None
    if which < 0.38:
        return None, count
    return unit, count


def _unit(rng: random.Random, order: int) -> int:
    object_size = 1 << order
    powers = [1 << n for n in range(8, max(order, 9) + 2)]
    odd = rng.choice(
        (
            0,
            1,
            3 << rng.randrange(8, 24),
            max(0, object_size - 512),
            object_size + 512,
            rng.randrange(256, 2 * object_size + 257),
        )
    )
    return rng.choice((*rng.choices(powers, k=5), object_size, odd))


def _names(rng: random.Random) -> tuple[str, ...]:
    if rng.random() < 0.03:
        return ()
    chosen = {
        name
        for name in BITS
        if rng.random() < (0.9 if name == 'layering' else 0.5)
    }
    if rng.random() < 0.5:
        # Add the required features, else most sets would be refused.
        if 'fast-diff' in chosen:
            chosen.add('object-map')
        if chosen & {'object-map', 'journaling'}:
            chosen.add('exclusive-lock')
    names = sorted(chosen)
    rng.shuffle(names)
    return tuple(names)


def _size(rng: random.Random, case: Case) -> int:
    draws: tuple[Callable[[], int], ...] = (
        lambda: rng.randrange(1, 65) * GIB,
        lambda: rng.randrange(1, 65) * GIB,
        lambda: GIB << rng.randrange(24),
        lambda: rng.randrange(GIB, 8 * PIB),
        lambda: _limit(case) + rng.choice((0, 1, 512, GIB)),
        lambda: _limit(case) - rng.choice((0, 1, 512)),
    )
    size = max(GIB, min(8 * PIB, rng.choice(draws)()))
    heavy = has_heavy_map(dataclasses.replace(case, size=size))
    if heavy and rng.random() > _KEEP_HEAVY:
        return rng.randrange(1, 2**19) * case.expected.unit
    return size


def _limit(case: Case) -> int:
    """Return the largest size that the object map allows."""
    made = case.expected
    # Object sets fill up one after the other. In the last set, each stripe
    # unit uses another object.
    sets, rest = divmod(MAP_LIMIT, max(1, made.count))
    return (sets * made.count << made.order) + rest * made.unit


def _written(
    rng: random.Random,
    order: int | None,
    unit: int | None,
    count: int | None,
    names: tuple[str, ...] | None,
    object_map: bool | None,
) -> dict[str, str]:
    items = {}
    if order is not None:
        items['rbd:object_size'] = _text(rng, 1 << order)
    if unit is not None:
        items['rbd:stripe_unit'] = _text(rng, unit)
    if count is not None:
        items['rbd:stripe_count'] = str(count)
    if names is not None:
        items['rbd:features'] = ','.join(names)
    if object_map is not None:
        items['rbd:object_map'] = rng.choice(
            ('true', '<is> True') if object_map else ('false', '<is> False')
        )
    return items


def _text(rng: random.Random, size: int) -> str:
    """Write a size in one of the allowed notations."""
    ways = [str(size)]
    for unit, factor in (('K', 2**10), ('M', 2**20), ('G', 2**30)):
        if size and size % factor == 0:
            number = str(size // factor)
            ways += [number + unit, number + unit.lower(), f'{number}{unit}iB']
    return rng.choice(ways)
