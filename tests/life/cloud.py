# SPDX-License-Identifier: Apache-2.0

"""Clients of the cloud's APIs: tenants and an administrator."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import os
import subprocess
from typing import Any

import openstack

# The newest microversions of 2025.1, the oldest release we support.
_MICROVERSIONS = {'block_storage': '3.71', 'compute': '2.96'}
#: The name of the compute host to which volumes are attached.
COMPUTE_HOST = 'life-compute'
#: Words hidden from tenants: hosts of attachments and of back ends, pools.
HIDDEN = (COMPUTE_HOST, 'sandbox@', 'volumes-data')
_MARIADB = ('mariadb', '--no-defaults', '-u', 'root', '-N', '-B')
_TOLD = 200

Record = dict[str, Any]


def require(holds: object, text: str) -> None:
    """Raise AssertionError unless a condition holds."""
    if not holds:
        raise AssertionError(text)


@dataclasses.dataclass(frozen=True)
class Answer:
    """The response of an API."""

    status: int
    body: Record
    text: str

    @property
    def accepted(self) -> bool:
        """Whether the request was accepted."""
        return self.status < 400

    @property
    def reason(self) -> str:
        """The reason for a refusal."""
        for fault in self.body.values():
            if isinstance(fault, dict) and fault.get('message'):
                return str(fault['message'])
        return ''


class Caller:
    """One user in one project.

    :ivar name: ``a`` or ``b``, the tenants, or ``admin``
    """

    def __init__(
        self, name: str, connection: Any, tell: Callable[[str], None]
    ) -> None:
        self.name = name
        self.connection = connection
        self.project: str = connection.current_project_id
        self._tell = tell

    @property
    def is_admin(self) -> bool:
        """Whether this is the administrator."""
        return self.name == 'admin'

    def get(self, path: str, service: str = 'block_storage') -> Answer:
        """Send a GET request, which is not logged."""
        return self.respond('GET', path, None, service)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        service: str = 'block_storage',
    ) -> Answer:
        """Send and log a request that changes something.

        :raises AssertionError: if the response is never allowed
        """
        answer = self.respond(method, path, body, service)
        shown = f'{self.name}: {method} {path}'
        if body is not None:
            shown += f' {body}'
        shown += f' -> {answer.status}'
        if not answer.accepted:
            shown += f' {answer.reason[:_TOLD]!r}'
        self._tell(shown)
        require(answer.status < 500, f'server error: {shown}')
        explained = answer.accepted or answer.reason or answer.status == 404
        require(explained, f'refused without a reason: {shown}')
        self.check_hidden(answer, shown)
        return answer

    def check_hidden(self, answer: Answer, shown: str) -> None:
        """Check that the response shows no hidden words to a tenant."""
        if self.is_admin:
            return
        for word in HIDDEN:
            # Words from the tenant's own request are not secret.
            require(
                word not in answer.text or word in shown.partition(' ->')[0],
                f'{shown} tells a tenant of {word}: {answer.text}',
            )

    def respond(
        self,
        method: str,
        path: str,
        body: Any = None,
        service: str = 'block_storage',
    ) -> Answer:
        """Send a request; return the response, whatever it is."""
        api = getattr(self.connection, service)
        how: Record = {} if body is None else {'json': body}
        if service in _MICROVERSIONS:
            how['microversion'] = _MICROVERSIONS[service]
        response = api.request(path, method, raise_exc=False, **how)
        try:
            answer = response.json() if response.content else {}
        except ValueError:
            answer = {}
        if not isinstance(answer, dict):
            answer = {'answer': answer}
        return Answer(response.status_code, answer, response.text)


def administrator() -> Any:
    """Return the administrator's connection."""
    return openstack.connect(cloud='admin')


class Tenants:
    """Projects with one user each, removed at the end of a run."""

    def __init__(self, admin: Any) -> None:
        self._admin = admin
        self._made: list[tuple[str, str]] = []

    def make(self, name: str) -> Any:
        """Create a project and its user; return a connection."""
        api = self._admin.identity
        project = api.create_project(name=name)
        user = api.create_user(name=name, password=name)
        self._made.append((project.id, user.id))
        role = api.find_role('member')
        api.assign_project_role_to_user(project, user, role)
        auth = {
            **self._admin.config.config['auth'],
            'username': name,
            'password': name,
            'project_name': name,
        }
        for key in ('user_id', 'project_id', 'project_domain_id'):
            auth.pop(key, None)
        return openstack.connect(
            auth=auth,
            region_name=self._admin.config.region_name,
            identity_api_version='3',
            volume_api_version='3',
        )

    def remove(self) -> None:
        """Remove users and projects."""
        for project, user in self._made:
            self._admin.identity.delete_user(user, ignore_missing=True)
            self._admin.identity.delete_project(project, ignore_missing=True)


def rows(table: str, project: str, condition: str = 'true') -> list[str]:
    """Return the IDs of a project's rows in a Cinder table.

    :param condition: an SQL condition; the table includes deleted rows
    """
    where = f"project_id = '{project}' and {condition}"
    return query(f'select id from {table} where {where}')  # noqa: S608


def query(statement: str) -> list[str]:
    """Run a statement on Cinder's database; return the words of the result."""
    state = os.environ['RBD_SANDBOX_STATE']
    command = [*_MARIADB, '-S', f'{state}/run/mariadb.sock', 'cinder', '-e']
    done = subprocess.run(
        [*command, statement], capture_output=True, text=True, check=True
    )
    return done.stdout.split()
