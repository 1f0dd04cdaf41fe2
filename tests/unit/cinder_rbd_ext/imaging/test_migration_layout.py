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

import ddt

from cinder_rbd_ext.imaging import migration_layout
from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import plan
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_MIB = 1 << 20
_LAYOUT = layout.ImageLayout(_MIB, layout.Striping(64 << 10, 8))
_STATE = plan.ImageState(
    _LAYOUT, frozenset({'layering', 'deep-flatten', 'striping'}), 'data'
)


@ddt.ddt
class PlanMigratedTest(base.TestCase):
    #: Pool of the type, pool of the other back end, expected pool.
    _POOLS = (
        (None, None, None),
        (None, 'theirs', 'theirs'),
        ('ours', 'theirs', 'ours'),
        ('ours', None, 'ours'),
    )

    def _plan(
        self, of_type: str | None, of_host: str | None
    ) -> plan.ImagePlan:
        specs = {'rbd_data_pool': of_type} if of_type else {}
        volume = cinder_objects.volume(
            {'rbd:object_size': '8M'}, cinder_objects.volume_type(**specs)
        )
        host = {'capabilities': {'rbd_volume_data_pool': of_host}}
        return migration_layout.plan_migrated(volume, host, _STATE, _STATE)

    @ddt.data(*_POOLS)
    @ddt.unpack
    def test_data_pool_is_that_of_the_destination(
        self, of_type: str | None, of_host: str | None, made: str | None
    ) -> None:
        self.assertEqual(
            plan.ImagePlan(_LAYOUT, _STATE.image_features, made),
            self._plan(of_type, of_host),
        )

    def test_stock_backend(self) -> None:
        """The back end does not report a data pool."""
        volume = cinder_objects.volume()
        hosts: list[dict[str, Any]] = [{}, {'capabilities': {}}]
        for host in hosts:
            made = migration_layout.plan_migrated(volume, host, _STATE, _STATE)
            self.assertIsNone(made.data_pool)

    def test_pool_that_is_none(self) -> None:
        """The name comes through RPC and is used in a command line."""
        self.assertRaises(errors.OptionError, self._plan, None, 'a b')
