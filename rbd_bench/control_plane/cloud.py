# SPDX-License-Identifier: Apache-2.0

"""The cloud: the user that rally gets, and checks before and after a run."""

from collections.abc import Sequence
import dataclasses
from typing import Any

from rbd_bench import fields

#: Names of everything that rally creates begin with it.
PREFIX = 'cinder-rbd-ext-bench-'
#: Types of Cinder's service in a catalog, in the order of preference.
_CINDER = ('block-storage', 'volumev3', 'block-store', 'volume')
_UNLIMITED = -1


@dataclasses.dataclass(frozen=True)
class User:
    """A user and a project of the cloud.

    :ivar password: never shown, not even in tracebacks
    :ivar cacert: path of a file with certificates; None for the default
    :ivar cinder: the type of Cinder's service in the catalog
    """

    auth_url: str
    name: str
    password: str = dataclasses.field(repr=False)
    project: str
    user_domain: str
    project_domain: str
    region: str | None
    interface: str
    insecure: bool
    cacert: str | None
    cinder: str

    def specification(self) -> dict[str, Any]:
        """Return the environment of rally, which has the password.

        rally creates no users and no projects: it gets an existing user.
        """
        platform: dict[str, Any] = {
            'auth_url': self.auth_url,
            'endpoint_type': self.interface,
            'https_insecure': self.insecure,
            'users': [
                {
                    'username': self.name,
                    'password': self.password,
                    'project_name': self.project,
                    'user_domain_name': self.user_domain,
                    'project_domain_name': self.project_domain,
                }
            ],
            'api_info': {'cinder': {'service_type': self.cinder}},
        }
        if self.region:
            platform['region_name'] = self.region
        if self.cacert:
            platform['https_cacert'] = self.cacert
        return {'existing@openstack': platform}


def user(connection: Any) -> User:
    """Return the user of a connection.

    Names come from the token, because a configuration may have IDs.

    :param connection: of openstacksdk
    :raises OptionError: if there is no password or no project, which rally
        needs
    """
    settings = connection.config
    password = settings.auth.get('password')
    access = connection.session.auth.get_access(connection.session)
    if not password or not access.project_name:
        raise fields.refused(
            'cloud',
            settings.name,
            'no password, or no project',
            'a user with a password and a project: rally does not support '
            'application credentials and tokens',
        )
    types = {each['type'] for each in access.service_catalog.catalog}
    verify, _ = settings.get_requests_verify_args()
    return User(
        auth_url=settings.auth['auth_url'],
        name=access.username,
        password=password,
        project=access.project_name,
        user_domain=access.user_domain_name,
        project_domain=access.project_domain_name,
        region=settings.get_region_name() or None,
        interface=settings.get_interface() or 'public',
        insecure=verify is False,
        cacert=verify if isinstance(verify, str) else None,
        cinder=next((each for each in _CINDER if each in types), _CINDER[0]),
    )


def check_types(storage: Any, names: Sequence[str]) -> None:
    """Check that volume types exist.

    :param storage: Cinder's API
    :raises OptionError: if one does not exist for the user
    """
    existing = [each.name for each in storage.types()]
    for name in names:
        if name not in existing:
            raise fields.refused(
                '--types', name, 'no such volume type', ', '.join(existing)
            )


def check_quota(storage: Any, volumes: int, size: int) -> None:
    """Check that the quota of the project suffices.

    :param storage: Cinder's API
    :param volumes: number of volumes that exist at a time
    :param size: GiB of each
    :raises OptionError: if it does not
    """
    limits = storage.get_limits().absolute
    for name, needed, most, used in (
        (
            'volumes',
            volumes,
            limits.max_total_volumes,
            limits.total_volumes_used,
        ),
        (
            'gigabytes',
            volumes * size,
            limits.max_total_volume_gigabytes,
            limits.total_gigabytes_used,
        ),
    ):
        if most is not None and most != _UNLIMITED and used + needed > most:
            raise fields.refused(
                f'quota {name}',
                most,
                f'the benchmark needs {needed}, and {used} are in use',
                f'{used + needed} or more, or a smaller --at-once, --times '
                'or --size',
            )


def remaining(connection: Any, prefix: str) -> list[str]:
    """Return the volumes and servers of a run that still exist.

    :param connection: of openstacksdk
    :param prefix: with which their names begin
    """
    resources = [
        f'volume {each.id}'
        for each in connection.block_storage.volumes(details=False)
        if str(each.name).startswith(prefix)
    ]
    if connection.has_service('compute'):
        resources += [
            f'server {each.id}'
            for each in connection.compute.servers(details=False)
            if str(each.name).startswith(prefix)
        ]
    return resources
