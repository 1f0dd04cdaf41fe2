# SPDX-License-Identifier: Apache-2.0

from cinder import context as cinder_context
from cinder import policy as cinder_policy
from cinder.tests.unit import test
from oslo_policy import generator
from oslo_policy import policy

from cinder_rbd_ext import policies
from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import request
from tests.unit.cinder_rbd_ext import cinder_objects
from tests.unit.cinder_rbd_ext.api import base


class PoliciesTest(base.ApiTestCase):
    """Default policies, and policies that an operator overrides."""

    def test_each_key_of_volumes_has_a_policy(self) -> None:
        with_policy = {
            key for each in registry.policies().values() for key in each
        }
        self.assertEqual(set(registry.volume_keys()), with_policy)

    def test_each_is_documented(self) -> None:
        names = {rule.name for rule in policies.list_rules()}
        self.assertLessEqual(
            {each.name for each in registry.policies()},
            names,
        )
        for rule in policies.list_rules():
            self.assertNotEqual('', rule.description)
            self.assertNotEqual([], rule.operations)
            # The text in the sample file.
            self.assertIn(rule.name, generator._format_rule_default_yaml(rule))

    def test_ours_after_cinders_own(self) -> None:
        body = self.create({'rbd:object_size': '1M'})
        self.override_policies(volume__create='')
        words = ('set_layout', 'rbd:object_size')
        self.refused(403, words, 'POST', '/volumes', body, app=self.reader)
        self.override_policies(volume__create='role:admin')
        for metadata in ({'rbd:object_size': '1M'}, {'rbd:bad': '1'}, {}):
            body = self.create(metadata)
            self.refused(403, 'volume:create', 'POST', '/volumes', body)

    def test_names_of_pools(self) -> None:
        rules = {policies.GET_POOLS.replace(':', '__'): ''}
        self.override_policies(**rules)
        volume = self.volume(made={**base.MADE, 'rbd:data_pool': 'ec'})
        shown = self.ok('GET', f'/volumes/{volume.id}')['volume']
        self.assertEqual('ec', shown['os-rbd-volume-options:data_pool'])

    def test_operator_overrides(self) -> None:
        rules = {
            f'{definitions.POLICY}:set_layout'.replace(
                ':', '__'
            ): 'role:admin',
            policies.GET.replace(':', '__'): 'role:auditor',
        }
        self.override_policies(**rules)
        body = self.create({'rbd:object_size': '1M'})
        self.refused(
            403, f'{definitions.POLICY}:set_layout', 'POST', '/volumes', body
        )
        self.ok('POST', '/volumes', body, app=self.admin)
        self.ok('POST', '/volumes', self.create({'rbd:object_map': 'true'}))
        path = '/os-rbd-volume-options'
        self.refused(403, policies.GET, 'GET', path)
        volume = self.volume(made=base.MADE)
        shown = self.ok('GET', f'/volumes/{volume.id}')['volume']
        self.assertEqual([], [k for k in shown if k.startswith('os-rbd')])


_SOME = frozenset({keys.STRIPE_UNIT, keys.CACHE_MODE})


class SettableTest(test.TestCase):
    def _settable(self, *roles: str, moved: bool = False) -> frozenset[str]:
        volume = cinder_objects.volume()
        volume._context = cinder_context.RequestContext(
            'user', 'project', is_admin=False, roles=list(roles)
        )
        wanted = request.read_request(
            {},
            {},
            cinder_objects.settings(
                rbd_tenant_options=','.join(sorted(_SOME))
            ),
        )
        return policies.settable_by_creator(volume, wanted, moved)

    def test_what_type_and_back_end_allow(self) -> None:
        self.assertEqual(_SOME, self._settable('member'))

    def test_policy_of_the_service(self) -> None:
        policies.register()
        self.override_policy(f'{definitions.POLICY}:set_layout', 'role:admin')
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
            frozenset(registry.volume_keys()),
            self._settable('member', moved=True),
        )
