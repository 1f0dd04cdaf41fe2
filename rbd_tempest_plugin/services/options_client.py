# SPDX-License-Identifier: Apache-2.0

"""The routes of the API extension."""

import json
from typing import Any

from tempest.lib.common import rest_client
from tempest.lib.services.volume import base_client

from rbd_volume_options import definitions


class OptionsClient(base_client.BaseClient):
    """The client for the options of volume types."""

    def list_options(self) -> Any:
        """Return the options of each type that is visible to the caller."""
        return self._get(definitions.ALIAS)

    def show_options(self, volume_type: str) -> Any:
        """Return the options of a volume type, by id or name.

        :raises tempest.lib.exceptions.NotFound: if no such type is visible to
            the caller
        """
        return self._get(f'{definitions.ALIAS}/{volume_type}')

    def _get(self, url: str) -> Any:
        response, text = self.get(url)
        body = json.loads(text)
        self.expected_success(200, response.status)
        return rest_client.ResponseBody(response, body)
