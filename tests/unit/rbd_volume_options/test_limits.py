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

import ddt

from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import limits
from tests.unit.rbd_volume_options import refusals

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

Origin = errors.Origin


class DefaultsTestCase(refusals.RefusalTestCase):
    def test_defaults_restrict_little(self) -> None:
        default = limits.Limits()
        self.assertEqual(64, default.max_stripe_count)
        self.assertIs(True, default.require_whole_stripes)
        self.assertEqual(frozenset(), default.tenant_options)


@ddt.ddt
class StripeCountTestCase(refusals.RefusalTestCase):
    def _check(self, count: int, most: int) -> None:
        limits.check_stripe_count(
            layout.Striping(64 * KIB, count),
            limits.Limits(max_stripe_count=most),
            Origin.VOLUME_TYPE,
        )

    @ddt.data((1, 1), (16, 64), (64, 64))
    @ddt.unpack
    def test_count_up_to_maximum_is_allowed(
        self, count: int, most: int
    ) -> None:
        self._check(count, most)

    @ddt.data((2, 1), (65, 64), (100000, 64))
    @ddt.unpack
    def test_too_many(self, count: int, most: int) -> None:
        self.assertRefused(
            lambda: self._check(count, most),
            'rbd:stripe_count',
            count,
            'more than this back end allows',
            f'1 to {most}',
            Origin.VOLUME_TYPE,
        )
