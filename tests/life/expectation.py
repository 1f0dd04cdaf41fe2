# SPDX-License-Identifier: Apache-2.0

"""The images that a volume may have, by its keys, type and history."""

from __future__ import annotations

from rbd_volume_options import features
from tests.life import kinds
from tests.life import metadata
from tests.life import model
from tests.life import state as states

Layout = tuple[int, int, int]

#: librbd's default object size.
_SIZE = 4 * 2**20
_KEY = 'rbd:object_size'
_PAIR = ('rbd:stripe_unit', 'rbd:stripe_count')
_DEFAULT = frozenset(
    {
        *(features.LAYERING, features.EXCLUSIVE_LOCK, features.OBJECT_MAP),
        *(features.FAST_DIFF, features.DEEP_FLATTEN),
    }
)


def layouts(volume: model.Volume, backend: kinds.Backend) -> set[Layout]:
    """Return the layouts that a volume's image may have."""
    bases: list[states.State | None] = [*volume.bases]
    if not volume.inherits or not bases:
        bases.append(None)
    sets: set[Layout] = set()
    for base in bases:
        sets |= _layouts(volume, backend, base)
    return sets


def _layouts(
    volume: model.Volume, backend: kinds.Backend, base: states.State | None
) -> set[Layout]:
    """Return the layouts, given an image to inherit from."""
    merged = {**volume.kind.own, **volume.keys}
    inherited = _inherited(volume, backend, base) if base else None
    size, unit, count = inherited or (_SIZE, _SIZE, 1)
    striped = (unit, count) != (size, 1)
    if _KEY in merged:
        size = metadata.as_size(merged[_KEY])
    striping = metadata.pair(volume.keys) or metadata.pair(volume.kind.own)
    if striping:
        sets = {(size, *striping)}
    elif striped:
        sets = {(size, unit, count)}
    else:
        sets = {(size, size, 1)}
    if inherited and (
        volume.foreign or not _fits(next(iter(sets)), volume.size)
    ):
        # The code may inherit the layout or not.
        sets |= _layouts(volume, backend, None)
    return sets


def _inherited(
    volume: model.Volume, backend: kinds.Backend, base: states.State
) -> Layout | None:
    """Return the layout that is inherited from another image, or None.

    It is inherited as a whole, if the type allows the keys of all values that
    are not librbd's defaults.
    """
    size, unit, count = base.layout
    needed = set()
    if size != _SIZE:
        needed.add(_KEY)
    if (unit, count) != (size, 1):
        needed |= {*_PAIR}
    allowed = needed <= set(volume.kind.tenant_options(backend))
    if not volume.foreign and not (allowed and count <= backend.max_count):
        return None
    return base.layout


def _fits(layout: Layout, size: int) -> bool:
    """Whether a volume of this size in GiB can have the layout."""
    return layout[1] <= layout[0] and metadata.whole_stripes(layout[1:], size)


def single_client(
    volume: model.Volume, backend: kinds.Backend
) -> set[frozenset[str]]:
    """Return the allowed sets of single-client features."""
    if volume.kind.multiattach:
        return {frozenset()}
    bases = [frozenset(_DEFAULT)]
    allowed = {'rbd:features', 'rbd:object_map'}
    if allowed & set(volume.kind.tenant_options(backend)):
        bases += [base.features for base in volume.bases]
    return {_features(volume, base) & features.SINGLE_CLIENT for base in bases}


def _features(volume: model.Volume, base: frozenset[str]) -> frozenset[str]:
    """Return the requested features on top of a base."""
    wanted = base
    for items in (volume.kind.own, volume.keys):
        if 'rbd:features' in items:
            wanted = frozenset(items['rbd:features'].split(','))
        if 'rbd:object_map' in items:
            wanted = _with_map(
                wanted, metadata.is_true(items['rbd:object_map'])
            )
    return wanted


def _with_map(wanted: frozenset[str], on: bool) -> frozenset[str]:
    pair = {features.OBJECT_MAP, features.FAST_DIFF}
    if on:
        return wanted | pair | {features.EXCLUSIVE_LOCK}
    return wanted - pair
