# SPDX-License-Identifier: Apache-2.0

import pathlib
from typing import Any
from unittest import mock

import fixtures
import openstack
from openstack import connection

from tests.tempest import configure
from tests.unit import base

_AUTH = {
    'auth_url': 'http://127.0.0.1:5000/v3',
    'username': 'admin',
    'password': 'per%cent',
    'project_name': 'admin',
    'user_domain_name': 'Default',
}


class TempestConfTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def _cloud(self, *services: str) -> Any:
        """Return a mocked connection to a cloud with the given services."""
        cloud = mock.create_autospec(connection.Connection, instance=True)
        cloud.config = mock.Mock(spec_set=['get_auth_args'])
        cloud.config.get_auth_args.return_value = _AUTH
        cloud.service_catalog = [{'type': name} for name in services]
        cloud.image = mock.Mock(spec_set=['find_image', 'download_image'])
        cloud.image.find_image.return_value.id = 'an-image'
        cloud.compute = mock.Mock(spec_set=['find_flavor'])
        cloud.compute.find_flavor.side_effect = lambda name, **_: mock.Mock(
            id=f'flavor {name}'
        )
        return cloud

    def test_ids_are_the_clouds(self) -> None:
        cloud = self._cloud('compute', 'network', 'image')
        sections = configure.sections(cloud, self.folder)
        self.assertEqual('an-image', sections['compute']['image_ref'])
        self.assertEqual('flavor tiny', sections['compute']['flavor_ref'])
        self.assertEqual('flavor small', sections['compute']['flavor_ref_alt'])
        self.assertEqual('True', sections['service_available']['nova'])
        self.assertEqual('True', sections['service_available']['neutron'])
        features = sections['rbd_volume_options_feature_enabled']
        self.assertEqual('True', features['cache_mode'])

    def test_a_cloud_without_servers(self) -> None:
        sections = configure.sections(self._cloud('image'), self.folder)
        self.assertNotIn('flavor_ref', sections['compute'])
        self.assertEqual('False', sections['service_available']['nova'])
        features = sections['rbd_volume_options_feature_enabled']
        self.assertEqual('False', features['cache_mode'])

    def test_what_is_written_for_one_cloud_is_not_for_the_next(self) -> None:
        configure.sections(self._cloud('compute'), self.folder)
        sections = configure.sections(self._cloud('image'), self.folder)
        self.assertNotIn('flavor_ref', sections['compute'])

    def test_program_writes_the_file(self) -> None:
        path = self.folder / 'tempest.conf'
        self.useFixture(
            fixtures.MonkeyPatch('sys.argv', ['tempest_conf', str(path)])
        )
        cloud = self._cloud()
        with mock.patch.object(
            openstack, 'connect', autospec=True, return_value=cloud
        ) as connect:
            self.assertEqual(0, configure.main())
        connect.assert_called_once_with(cloud='admin')
        self.assertEqual(0o600, path.stat().st_mode & 0o777)
        cloud.image.download_image.assert_called_once_with(
            'an-image', output=str(self.folder / 'tiny.raw')
        )
        text = path.read_text()
        self.assertIn(f'img_file = {self.folder}/tiny.raw\n', text)
        self.assertIn('admin_password = per%cent\n', text)
        self.assertIn('manage_snapshot_ref = source-name,snapshot-%s\n', text)
