# SPDX-License-Identifier: Apache-2.0

"""A fake cloud for commands, and a client that runs them."""

import io
import json
import types
from typing import Any

from openstack import exceptions
import requests

ROUTE = '/os-rbd-volume-options'


def response(status: int, body: Any = None) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made._content = json.dumps(body or {}).encode()
    return made


def fault(status: int, text: str) -> requests.Response:
    """Return the fault with which an API refuses a request."""
    return response(status, {'fault': {'code': status, 'message': text}})


class Service:
    """An API: answers by path, and names by ID.

    :ivar answers: the bodies of responses to GET
    :ivar names: the ID for each name, for each kind of resource
    :ivar posted: the bodies of requests that would change something
    """

    def __init__(self, extension: bool = True) -> None:
        self.answers: dict[str, Any] = {}
        self.names: dict[str, dict[str, str]] = {}
        self.posted: list[Any] = []
        if extension:
            path = f'/extensions{ROUTE}'
            self.answers[path] = {'extension': {'alias': ROUTE[1:]}}

    def get_endpoint(self, interface: str) -> str | None:
        """Return the endpoint of the catalog; no one for administrators."""
        return None if interface == 'admin' else f'http://{interface}/v3'

    def get(self, path: str, endpoint_override: str = '') -> requests.Response:
        """Return the response, or 404.

        Answers by the whole URL take precedence.
        """
        for name in (f'{endpoint_override}{path}', path):
            if name in self.answers:
                return response(200, self.answers[name])
        return fault(404, 'The resource could not be found.')

    def post(self, path: str, json: Any) -> requests.Response:
        self.posted.append(json)
        return response(202, self.answers[f'POST {path}'])

    def delete(self, path: str) -> requests.Response:
        self.posted.append(path)
        return response(200)

    def _find(self, kind: str, name: str, ignore_missing: bool) -> Any:
        known = self.names.get(kind, {})
        if name not in {*known, *known.values()}:
            raise exceptions.NotFoundException(f'No {kind} found for {name}')
        return types.SimpleNamespace(id=known.get(name, name))

    def find_volume(self, name: str, ignore_missing: bool = True) -> Any:
        return self._find('Volume', name, ignore_missing)

    def find_snapshot(self, name: str, ignore_missing: bool = True) -> Any:
        return self._find('Snapshot', name, ignore_missing)

    def find_image(self, name: str, ignore_missing: bool = True) -> Any:
        """Return a Glance image by name or ID."""
        return self._find('Image', name, ignore_missing)

    def find_server(self, name: str, ignore_missing: bool = True) -> Any:
        return self._find('Server', name, ignore_missing)


class Client:
    """The parts of the ``openstack`` client that commands use."""

    def __init__(self, extension: bool = True) -> None:
        self.storage = Service(extension)
        self.image = Service()
        self.compute = Service()
        self.stdout = io.StringIO()
        cloud = types.SimpleNamespace(
            block_storage=self.storage, image=self.image, compute=self.compute
        )
        self.client_manager = types.SimpleNamespace(sdk_connection=cloud)

    def run(self, command: Any, *words: str) -> str:
        self.stdout.truncate(0)
        self.stdout.seek(0)
        made = command(self, None)
        made.run(made.get_parser('x').parse_args(words))
        return self.stdout.getvalue()

    def rows(self, command: Any, *words: str) -> Any:
        """Run a command and return its machine-readable output."""
        return json.loads(self.run(command, '-f', 'json', *words))
