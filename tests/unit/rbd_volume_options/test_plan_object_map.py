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

from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import inheritance
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
TIB = 1024 * 1024 * MIB

Origin = errors.Origin

_LEAST = frozenset({'layering'})
_NO_MAP = frozenset({'layering', 'exclusive-lock', 'deep-flatten'})
_DEFAULT = _NO_MAP | {'object-map', 'fast-diff'}
_STOCK = plan.ImageState(layout.ImageLayout(4 * MIB), _DEFAULT)

_BY_METADATA = Origin.VOLUME_METADATA
_BY_TYPE = Origin.VOLUME_TYPE


def _said(origin: Origin, **said: Any) -> precedence.Level:
    return precedence.Level(origin, options.VolumeOptions(**said))


def _plan(
    *levels: precedence.Level, base: plan.ImageState = _STOCK
) -> plan.ImagePlan:
    return plan.plan_image(
        precedence.resolve(levels),
        base,
        2 * TIB,
        limits.Limits(min_object_size=4 * KIB, max_objects=1 << 40),
    )


class ObjectMapTestCase(refusals.RefusalTestCase):
    """Object maps for 2 TiB in objects of 4 KiB."""

    def _assert_too_many(
        self, origin: Origin, *levels: precedence.Level, **kwargs: Any
    ) -> None:
        self.assertRefused(
            lambda: _plan(*levels, **kwargs),
            'rbd:object_map',
            'true',
            'a volume of 2048 GiB (4 KiB objects) has 536,870,912 objects',
            'up to 256,000,000 objects; use a larger rbd:object_size, '
            'or rbd:object_map = false',
            origin,
        )

    def test_both_asked_at_one_level(self) -> None:
        for origin in (_BY_METADATA, _BY_TYPE, Origin.BACKEND):
            self._assert_too_many(
                origin, _said(origin, object_size=4 * KIB, object_map=True)
            )

    def test_map_and_object_size_from_two_levels(self) -> None:
        self._assert_too_many(
            _BY_TYPE,
            _said(_BY_METADATA, object_size=4 * KIB),
            _said(_BY_TYPE, object_map=True),
        )

    def test_map_in_a_list_of_features(self) -> None:
        self._assert_too_many(
            Origin.BACKEND,
            _said(_BY_METADATA, object_size=4 * KIB),
            _said(Origin.BACKEND, image_features=_DEFAULT),
        )

    def test_map_that_the_source_has(self) -> None:
        self._assert_too_many(
            Origin.SOURCE_VOLUME,
            _said(_BY_METADATA, object_size=4 * KIB),
            inheritance.level_of(Origin.SOURCE_VOLUME, _STOCK),
        )

    def test_map_that_librbd_gives_by_itself(self) -> None:
        self._assert_too_many(
            Origin.CLUSTER, _said(_BY_METADATA, object_size=4 * KIB)
        )

    def test_map_that_librbd_gives_to_a_clone(self) -> None:
        self._assert_too_many(
            Origin.CLUSTER,
            _said(_BY_METADATA, object_size=4 * KIB),
            _said(Origin.GLANCE_IMAGE, object_size=8 * MIB),
        )

    def test_objects_that_stock_would_make(self) -> None:
        self._assert_too_many(
            _BY_METADATA,
            _said(_BY_METADATA, object_map=True),
            base=plan.ImageState(layout.ImageLayout(4 * KIB), _LEAST),
        )

    def test_without_the_map_any_size(self) -> None:
        level = _said(_BY_METADATA, object_size=4 * KIB, object_map=False)
        self.assertEqual(
            plan.ImagePlan(layout.ImageLayout(4 * KIB), _NO_MAP),
            _plan(level),
        )
