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

"""Unit tests of rbd_operator.maintenance.kinds."""

from rbd_operator.audit import findings
from rbd_operator.maintenance import kinds
from tests.unit import base


class KindsTest(base.TestCase):
    def test_each_kind_is_cleaned_or_has_a_remedy(self) -> None:
        for kind in findings.KINDS.values():
            reason = kinds.refusal(kind)
            self.assertIs(kind in kinds.WAYS, reason is None)
            if reason:
                self.assertTrue(reason.remedy)

    def test_data_of_tenants_is_never_deleted_at_once(self) -> None:
        self.assertIsNotNone(kinds.refusal(findings.ORPHAN_SNAPSHOT))
        for kind in kinds.ORPHANS:
            self.assertIs(kinds.Way.TRASH, kinds.WAYS[kind])
