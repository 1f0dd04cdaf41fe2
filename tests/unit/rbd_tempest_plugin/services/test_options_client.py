# SPDX-License-Identifier: Apache-2.0

import json
from typing import Any
from unittest import mock

import fixtures
from tempest.lib import auth as auth_module
from tempest.lib import exceptions

from rbd_tempest_plugin.services import options_client
from tests.unit import base


class OptionsClientTest(base.TestCase):
    """The client sends the requests that the extension supports."""

    def setUp(self) -> None:
        super().setUp()
        auth = mock.create_autospec(auth_module.AuthProvider, instance=True)
        self.client = options_client.OptionsClient(
            auth, 'block-storage', 'RegionOne'
        )

    def _answer(self, status: int, body: Any) -> Any:
        response = mock.Mock(status=status, spec_set=['status'])
        return self.useFixture(
            fixtures.MockPatchObject(
                options_client.OptionsClient,
                'get',
                autospec=True,
                return_value=(response, json.dumps(body)),
            )
        ).mock

    def test_options_of_all_types_are_listed(self) -> None:
        get = self._answer(200, {'volume_types': []})
        self.assertEqual([], self.client.list_options()['volume_types'])
        get.assert_called_once_with(self.client, 'os-rbd-volume-options')

    def test_options_of_a_type_are_shown(self) -> None:
        get = self._answer(200, {'volume_type': {'name': 'rbd'}})
        shown = self.client.show_options('rbd')
        self.assertEqual('rbd', shown['volume_type']['name'])
        get.assert_called_once_with(self.client, 'os-rbd-volume-options/rbd')

    def test_another_status_is_a_fault(self) -> None:
        self._answer(202, {})
        self.assertRaises(
            exceptions.InvalidHttpSuccessCode, self.client.list_options
        )
