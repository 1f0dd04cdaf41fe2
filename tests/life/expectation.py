# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Which images a volume may have, by its keys, its type and its past."""

from __future__ import annotations

from rbd_volume_options import features
from tests.life import kinds
from tests.life import metadata
from tests.life import model
from tests.life import state as states

Layout = tuple[int, int, int]

#: What librbd makes where nobody says anything.
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
    found: set[Layout] = set()
    for base in bases:
        found |= _layouts(volume, backend, base)
    return found


def _layouts(
    volume: model.Volume, backend: kinds.Backend, base: states.State | None
) -> set[Layout]:
    """Return them for one image that values may come from."""
    asked = {**volume.kind.own, **volume.keys}
    inherited = _inherited(volume, backend, base) if base else None
    size, unit, count = inherited or (_SIZE, _SIZE, 1)
    striped = (unit, count) != (size, 1)
    if _KEY in asked:
        size = metadata.as_size(asked[_KEY])
    striping = metadata.pair(volume.keys) or metadata.pair(volume.kind.own)
    if striping:
        found = {(size, *striping)}
    elif striped:
        found = {(size, unit, count)}
    else:
        found = {(size, size, 1)}
    if inherited and (
        volume.foreign or not _fits(next(iter(found)), volume.size)
    ):
        # Inherited or not, refused or dropped: as the code sees fit.
        found |= _layouts(volume, backend, None)
    return found


def _inherited(
    volume: model.Volume, backend: kinds.Backend, base: states.State
) -> Layout | None:
    """Return the layout that comes from another image; None for none.

    It comes as a whole, where the type allows the keys of what isn't as
    librbd makes it.
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
    """Whether a volume of so many GiB can have a layout."""
    return layout[1] <= layout[0] and metadata.whole_stripes(layout[1:], size)


def data_pool(volume: model.Volume, backend: kinds.Backend) -> str | None:
    """Return the pool that a volume's data have to be in."""
    return volume.kind.data_pool(backend)


def single_client(
    volume: model.Volume, backend: kinds.Backend
) -> set[frozenset[str]]:
    """Return the sets that the features for one client may be."""
    if volume.kind.multiattach:
        return {frozenset()}
    bases = [frozenset(_DEFAULT)]
    allowed = {'rbd:features', 'rbd:object_map'}
    if allowed & set(volume.kind.tenant_options(backend)):
        bases += [base.features for base in volume.bases]
    return {_features(volume, base) & features.SINGLE_CLIENT for base in bases}


def _features(volume: model.Volume, base: frozenset[str]) -> frozenset[str]:
    """Return the features asked for, over a base."""
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
