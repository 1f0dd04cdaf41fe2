# SPDX-License-Identifier: Apache-2.0

"""Cinder's API, as the commands for many volumes use it."""

from collections.abc import Iterator
from typing import Any

from keystoneauth1 import exceptions as keystone
from osc_lib import exceptions

from rbd_volume_options import published
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import outcomes

BY_CINDER = outcomes.Reason(
    'refused-by-cinder',
    'Cinder refuses the retype',
    'Correct what the message names, and run the command again.',
)


class VolumeService:
    """Cinder's API, used as the user of a cloud.

    :param storage: Cinder's API of openstacksdk
    """

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def is_administrators(self) -> bool:
        """Return whether the user is an administrator of the cloud.

        Cinder lists the volumes of all projects to administrators only, and
        shows the hosts of volumes to them. The policy of a cloud can show the
        back ends to others, such as its monitoring.
        """
        response = self._storage.get('/scheduler-stats/get_pools')
        if response.status_code == 403:
            return False
        response = self._storage.get('/volumes/detail?all_tenants=1&limit=1')
        return response.status_code != 200 or all(
            'os-vol-host-attr:host' in each
            for each in response.json().get('volumes', ())
        )

    def clusters(self) -> frozenset[str]:
        """Return the fsids of the Ceph clusters of the running back ends.

        It is empty if Cinder does not show them: only administrators may see
        the back ends.
        """
        response = self._storage.get('/scheduler-stats/get_pools?detail=True')
        if response.status_code >= 400:
            return frozenset()
        return records.clusters(answers.record(response)['pools'])

    def type_of(self, wanted: str) -> answers.Record:
        """Return a volume type.

        :param wanted: the ID or name of the type
        :raises ValueError: if the user can see no such type
        :raises CommandError: if the API refuses the request
        """
        types = answers.volume_types(self._storage)
        for attribute in ('id', 'name'):
            for each in types:
                if each[attribute] == wanted:
                    return each
        raise ValueError(
            f'There is no volume type {wanted}. Volume types: '
            f'{", ".join(sorted(each["name"] for each in types)) or "none"}'
        )

    def volumes(self) -> Iterator[records.Volume]:
        """Yield the volumes that the user can see."""
        return records.volumes(self._storage)

    def show(self, ident: str) -> records.Volume | None:
        """Return a volume; None if it does not exist.

        :raises NotAnswered: if the API does not answer
        :raises CommandError: if the API refuses the request
        """
        response = self._answered(
            'get',
            f'/volumes/{ident}',
            microversion=records.VOLUME_MICROVERSION,
        )
        if response.status_code == 404:
            return None
        return records.of_body(answers.record(response)['volume'])

    def retype(self, ident: str, target: str, policy: str) -> str:
        """Request a retype and return the warning of the answer.

        The API extension warns about the keys that the retype removes.

        :param target: ID of the new type
        :param policy: Cinder's migration policy
        :raises Refused: if the API refuses it, with its message
        :raises NotAnswered: if the API does not answer. It may have accepted
            the request.
        """
        action = {'new_type': target, 'migration_policy': policy}
        return _warning(
            self._answered(
                'post', f'/volumes/{ident}/action', json={'os-retype': action}
            )
        )

    def apply_type(self, ident: str) -> str:
        """Let the driver compare a volume with its type.

        :returns: the warning of the answer; empty if the volume is as its type
            requests, or was deleted
        :raises Refused: if the API refuses it, with its message
        :raises NotAnswered: if the API does not answer
        """
        response = self._answered(
            'post', f'/volumes/{ident}/metadata', json={'metadata': {}}
        )
        if response.status_code == 404:
            return ''
        warning = _warning(response)
        if not warning and published.HEADER_COMPARED not in response.headers:
            raise outcomes.Refused(
                BY_CINDER,
                'a cinder-api without the extension answered; repeat the '
                'command when all of them have it',
            )
        return warning

    def _answered(self, method: str, path: str, **arguments: Any) -> Any:
        """Return the response, which can be a refusal.

        :raises NotAnswered: if the connection, a proxy in front of the service
            or Keystone fails
        """
        try:
            response = getattr(self._storage, method)(path, **arguments)
        except (
            keystone.ConnectionError,
            keystone.HttpServerError,
            keystone.RetriableConnectionFailure,
        ) as error:
            raise _not_answered(error) from error
        status = response.status_code
        # An error of one volume must not delay the others.
        is_fault = status == 500 and method == 'post'
        if status == 429 or (status >= 500 and not is_fault):
            raise _not_answered(f'HTTP {status}')
        return response


def _not_answered(why: object) -> outcomes.NotAnswered:
    return outcomes.NotAnswered(f'the API did not answer: {why}')


def _warning(response: Any) -> str:
    """Return the warning of an answer; empty for none.

    :raises Refused: if the answer is an error
    """
    if response.status_code >= 400:
        try:
            answers.record(response)
        except exceptions.CommandError as error:
            raise outcomes.Refused(BY_CINDER, str(error)) from error
    warning: str = response.headers.get('Warning', '')
    return warning.partition('"')[2].removesuffix('"')
