# SPDX-License-Identifier: Apache-2.0

import types
from typing import Any

import ddt

from rbd_bench.control_plane import cloud
from rbd_volume_options import errors
from tests.unit import base
from tests.unit.rbd_bench.control_plane import users


@ddt.ddt
class CloudTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.connection = users.connection()

    def test_rally_gets_the_user_of_the_connection(self) -> None:
        (platform,) = cloud.user(self.connection).specification().values()
        self.assertEqual(
            {
                'auth_url': 'http://keystone/v3',
                'endpoint_type': 'public',
                'https_insecure': False,
                'region_name': 'one',
                'api_info': {'cinder': {'service_type': 'volumev3'}},
                'users': [
                    {
                        'username': 'demo',
                        'password': users.PASSWORD,
                        'project_name': 'project',
                        'user_domain_name': 'Default',
                        'project_domain_name': 'Other',
                    }
                ],
            },
            platform,
        )

    def test_password_is_not_shown(self) -> None:
        self.assertNotIn(users.PASSWORD, repr(cloud.user(self.connection)))

    @ddt.data(
        (False, True, None),
        (True, False, None),
        ('/etc/ca.pem', False, '/etc/ca.pem'),
    )
    @ddt.unpack
    def test_rally_verifies_certificates_as_the_connection_does(
        self, verify: Any, insecure: bool, cacert: str | None
    ) -> None:
        self.connection.config.get_requests_verify_args = lambda: (
            verify,
            None,
        )
        (platform,) = cloud.user(self.connection).specification().values()
        self.assertEqual(insecure, platform['https_insecure'])
        self.assertEqual(cacert, platform.get('https_cacert'))

    def test_no_password(self) -> None:
        error = self.assertRaises(
            errors.OptionError, cloud.user, users.connection(password=None)
        )
        self.assertIn('application credentials', str(error))

    def test_no_project(self) -> None:
        self.connection.access.project_name = None
        self.assertRaises(errors.OptionError, cloud.user, self.connection)

    def test_unknown_volume_types_are_refused(self) -> None:
        storage = self.connection.block_storage
        cloud.check_types(storage, ('stock', 'rbd'))
        error = self.assertRaises(
            errors.OptionError, cloud.check_types, storage, ('stock', 'rdb')
        )
        self.assertIn("--types = 'rdb'", str(error))
        self.assertIn('stock, rbd', str(error))

    def test_too_small_quota_is_refused(self) -> None:
        storage = self.connection.block_storage
        cloud.check_quota(storage, 90, 5)
        error = self.assertRaises(
            errors.OptionError, cloud.check_quota, storage, 91, 5
        )
        self.assertIn('quota volumes', str(error))
        self.assertIn('101 or more', str(error))
        self.connection.limits.max_total_volume_gigabytes = 20
        error = self.assertRaises(
            errors.OptionError, cloud.check_quota, storage, 3, 5
        )
        self.assertIn('quota gigabytes', str(error))

    def test_only_resources_of_this_run_remain(self) -> None:
        def named(ident: str, name: str | None) -> Any:
            return types.SimpleNamespace(id=ident, name=name)

        prefix = f'{cloud.PREFIX}1'
        self.connection.block_storage.volumes = lambda details: [
            named('a', f'{prefix}-s-2-3'),
            named('b', f'{cloud.PREFIX}2-s-2-3'),
            named('c', None),
        ]
        self.connection.compute.servers = lambda details: [
            named('d', f'{prefix}-s-4-5')
        ]
        self.assertEqual(
            ['volume a', 'server d'], cloud.remaining(self.connection, prefix)
        )
        self.connection.has_service = lambda name: False
        self.assertEqual(
            ['volume a'], cloud.remaining(self.connection, prefix)
        )
