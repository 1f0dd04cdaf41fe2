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
from tests.life import ceph
from tests.life import kinds
from tests.life import metadata
from tests.life import model

Layout = tuple[int, int, int]

#: What librbd makes where nobody says anything.
_SIZE = 4 * 2**20
_PAIR = ('rbd:stripe_unit', 'rbd:stripe_count')
_DEFAULT = frozenset(
    {
        *(features.LAYERING, features.EXCLUSIVE_LOCK, features.OBJECT_MAP),
        *(features.FAST_DIFF, features.DEEP_FLATTEN),
    }
)


def layouts(volume: model.Volume, backend: kinds.Backend) -> set[Layout]:
    """Return the layouts that a volume's image may have."""
    bases: list[ceph.State | None] = [*volume.bases]
    if not volume.inherits or not bases:
        bases.append(None)
    found: set[Layout] = set()
    for base in bases:
        found |= _layouts(volume, backend, base)
    return found


def _layouts(
    volume: model.Volume, backend: kinds.Backend, base: ceph.State | None
) -> set[Layout]:
    """Return them for one image that values may come from."""
    asked = {**volume.kind.own, **volume.keys}
    allowed = volume.kind.tenant_options(backend)
    size = _SIZE
    if 'rbd:object_size' in asked:
        size = metadata.as_size(asked['rbd:object_size'])
    elif base and 'rbd:object_size' in allowed:
        size = base.object_size
    striping = metadata.pair(volume.keys) or metadata.pair(volume.kind.own)
    if striping:
        return {(size, *striping)}
    plain = (size, size, 1)
    if not base or not set(_PAIR) <= set(allowed):
        return {plain}
    unit, count = base.stripe_unit, base.stripe_count
    if (unit, count) == (base.object_size, 1):
        return {plain}
    inherited = (size, unit, count)
    if count > backend.max_count:
        return {plain}
    if unit > size or not metadata.whole_stripes((unit, count), volume.size):
        # Refused or dropped, as the code sees fit.
        return {plain, inherited}
    return {inherited}


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
