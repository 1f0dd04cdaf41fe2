# SPDX-License-Identifier: Apache-2.0

"""Test each route and key with each role and from another project."""

from typing import Any
import uuid

import openstack

from tests.cloud import base

_PATH = '/os-rbd-volume-options'
_VALUES = {
    'rbd:object_size': {'rbd:object_size': '1M'},
    'set_layout': {'rbd:stripe_unit': '4K', 'rbd:stripe_count': '2'},
    'rbd:object_map': {'rbd:object_map': 'true'},
    'rbd:features': {'rbd:features': 'layering'},
    'rbd:cache_mode': {'rbd:cache_mode': 'none'},
}


class RolesTest(base.CloudTestCase):
    """Permissions of admin, member, reader and a member elsewhere."""

    def setUp(self) -> None:
        super().setUp()
        identity = self.operator.identity
        project = identity.find_project('demo')
        elsewhere = identity.create_project(name=f'test-{uuid.uuid4().hex}')
        self.addCleanup(identity.delete_project, elsewhere)
        self.reader = self._user(project, 'reader')
        self.stranger = self._user(elsewhere, 'member')

    def _user(self, project: Any, role: str) -> Any:
        identity = self.operator.identity
        name, password = f'test-{uuid.uuid4().hex}', uuid.uuid4().hex
        user = identity.create_user(name=name, password=password)
        self.addCleanup(identity.delete_user, user)
        identity.assign_project_role_to_user(
            project, user, identity.find_role(role)
        )
        # Ignore the credentials in the environment, which are those of other
        # users.
        return openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type='password',
            auth={
                'auth_url': self.tenant.config.auth['auth_url'],
                'username': name,
                'password': password,
                'project_id': project.id,
                'user_domain_name': 'Default',
            },
            region_name=self.tenant.config.region_name,
        )

    def test_each_role_sees_what_it_may_set(self) -> None:
        users = (self.operator, self.tenant, self.reader, self.stranger)
        for user in users:
            self.assertIn(
                'volume_types', self.request('GET', _PATH, cloud=user)
            )
            told = self.request('GET', f'{_PATH}/rbd', cloud=user)
            settable = told['volume_type']['options']['rbd:features']
            self.assertIs(user is not self.reader, settable['settable'])

    def test_each_key_at_creation(self) -> None:
        for metadata in _VALUES.values():
            body = {
                'volume': {
                    'size': 1,
                    'volume_type': 'rbd',
                    'metadata': metadata,
                }
            }
            # Cinder's policy or ours refuses, whichever is checked first.
            self.check_refused(
                403, 'Policy does', 'POST', '/volumes', body, self.reader
            )
            for user in (self.tenant, self.operator, self.stranger):
                made = self.request('POST', '/volumes', body, user)
                ident = made['volume']['id']
                self.addCleanup(self.remove, ident)
                self.wait_for(ident)

    def test_volume_of_another_project(self) -> None:
        volume = self.created(metadata=base.ASKED)
        meta = {'rbd:cache_mode': 'none'}
        path = f'/volumes/{volume}'
        for method, where, body in (
            ('GET', path, None),
            ('POST', f'{path}/metadata', {'metadata': meta}),
            ('PUT', f'{path}/metadata', {'metadata': meta}),
            ('PUT', f'{path}/metadata/rbd:cache_mode', {'meta': meta}),
            ('DELETE', f'{path}/metadata/rbd:object_size', None),
            ('PUT', path, {'volume': {'metadata': meta}}),
            ('POST', f'{path}/action', {'os-retype': {'new_type': 'rbd2'}}),
        ):
            self.check_refused(404, volume, method, where, body, self.stranger)

    def test_metadata_as_a_reader(self) -> None:
        volume = self.created(metadata={'rbd:cache_mode': 'writeback'})
        meta = {'rbd:cache_mode': 'none'}
        path = f'/volumes/{volume}/metadata'
        for method, where, body in (
            ('POST', path, {'metadata': meta}),
            ('PUT', path, {'metadata': meta}),
            ('PUT', f'{path}/rbd:cache_mode', {'meta': meta}),
            ('DELETE', f'{path}/rbd:cache_mode', None),
        ):
            self.check_refused(403, 'Policy', method, where, body, self.reader)
        # A reader can see what was created.
        shown = self.request('GET', f'/volumes/{volume}', cloud=self.reader)
        self.assertIn('os-rbd-volume-options:features', shown['volume'])
        for user in (self.tenant, self.operator):
            self.request('POST', path, {'metadata': meta}, user)
            self.request('DELETE', f'{path}/rbd:cache_mode', cloud=user)

    def test_extra_specs(self) -> None:
        specs = {'volume_backend_name': 'rbd', 'rbd:object_map': 'true'}
        name = self.make_type()
        answer = self.request('GET', '/types', cloud=self.operator)
        (ident,) = (
            e['id'] for e in answer['volume_types'] if e['name'] == name
        )
        path = f'/types/{ident}/extra_specs'
        one = {'rbd:object_map': 'true'}
        created = {'volume_type': {'name': 'x', 'extra_specs': specs}}
        requests: tuple[tuple[str, str, Any], ...] = (
            ('POST', path, {'extra_specs': specs}),
            ('PUT', f'{path}/rbd:object_map', one),
            ('POST', '/types', created),
        )
        for method, where, body in requests:
            for user in (self.tenant, self.reader, self.stranger):
                self.check_refused(
                    403, 'set_extra_specs', method, where, body, user
                )
        for method, where, body in requests[:2]:
            self.request(method, where, body, self.operator)
