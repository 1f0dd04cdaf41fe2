# SPDX-License-Identifier: Apache-2.0

"""A user of a cloud, and a connection, for tests."""

import types
from typing import Any

from rbd_bench.control_plane import cloud

PASSWORD = 'a-secret'


def user() -> cloud.User:
    return cloud.user(connection())


def connection(**auth: Any) -> Any:
    """Return a connection of openstacksdk.

    :param auth: other values of the configuration
    """
    access = types.SimpleNamespace(
        username='demo',
        project_name='project',
        user_domain_name='Default',
        project_domain_name='Other',
        service_catalog=types.SimpleNamespace(
            catalog=[{'type': 'volumev3'}, {'type': 'compute'}]
        ),
    )
    limits = types.SimpleNamespace(
        max_total_volumes=100,
        total_volumes_used=10,
        max_total_volume_gigabytes=-1,
        total_gigabytes_used=10,
    )
    named = types.SimpleNamespace
    return types.SimpleNamespace(
        config=types.SimpleNamespace(
            name='demo',
            auth={
                'auth_url': 'http://keystone/v3',
                'username': 'demo',
                'password': PASSWORD,
                **auth,
            },
            get_requests_verify_args=lambda: (True, None),
            get_region_name=lambda: 'one',
            get_interface=lambda: None,
        ),
        session=types.SimpleNamespace(
            auth=types.SimpleNamespace(get_access=lambda session: access)
        ),
        block_storage=types.SimpleNamespace(
            types=lambda: [named(name='stock'), named(name='rbd')],
            get_limits=lambda: types.SimpleNamespace(absolute=limits),
            volumes=lambda details: [],
        ),
        compute=types.SimpleNamespace(servers=lambda details: []),
        has_service=lambda name: True,
        access=access,
        limits=limits,
    )
