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

"""The routes of the API extension."""

import json
from typing import Any

from tempest.lib.common import rest_client
from tempest.lib.services.volume import base_client

from rbd_volume_options import wire


class OptionsClient(base_client.BaseClient):
    """The client for the options of volume types."""

    def list_options(self) -> Any:
        """Return the options of each type that is visible to the caller."""
        return self._get(wire.ALIAS)

    def show_options(self, volume_type: str) -> Any:
        """Return the options of a volume type, by id or name.

        :raises tempest.lib.exceptions.NotFound: if no such type is visible to
            the caller
        """
        return self._get(f'{wire.ALIAS}/{volume_type}')

    def _get(self, url: str) -> Any:
        response, text = self.get(url)
        body = json.loads(text)
        self.expected_success(200, response.status)
        return rest_client.ResponseBody(response, body)
