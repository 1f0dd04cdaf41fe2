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

from cinder import context as cinder_context
from cinder import policy as cinder_policy
from cinder.tests.unit import test
from oslo_policy import policy

from cinder_rbd_ext import policies
from cinder_rbd_ext import request
from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import wire
from tests.unit.cinder_rbd_ext import cinder_objects

_SOME = frozenset({keys.STRIPE_UNIT, keys.CACHE_MODE})


class SettableTest(test.TestCase):
    def _settable(self, *roles: str, moved: bool = False) -> frozenset[str]:
        volume = cinder_objects.volume()
        volume._context = cinder_context.RequestContext(
            'user', 'project', is_admin=False, roles=list(roles)
        )
        wanted = request.of_volume(
            volume,
            None,
            cinder_objects.settings(
                rbd_tenant_options=','.join(sorted(_SOME))
            ),
        )
        return policies.settable_by_creator(volume, wanted, moved)

    def test_what_type_and_back_end_allow(self) -> None:
        self.assertEqual(_SOME, self._settable('member'))

    def test_policy_of_the_service(self) -> None:
        policies.register()
        self.override_policy(wire.POLICY_SET_LAYOUT, 'role:admin')
        self.assertEqual({keys.CACHE_MODE}, self._settable('member'))

    def override_policy(self, name: str, rule: str) -> None:
        """Set a policy, as an operator's policy.yaml does."""
        enforcer = cinder_policy._ENFORCER
        # Load the defaults first: otherwise, this rule would be the only one.
        enforcer.load_rules()
        enforcer.set_rules(
            policy.Rules.from_dict({name: rule}), overwrite=False
        )
        self.addCleanup(cinder_policy.reset)

    def test_context_without_roles(self) -> None:
        self.assertEqual(_SOME, self._settable())

    def test_moved_as_it_is(self) -> None:
        self.assertEqual(
            frozenset(definitions.volume_keys()),
            self._settable('member', moved=True),
        )
