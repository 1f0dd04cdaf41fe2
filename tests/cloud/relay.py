# SPDX-License-Identifier: Apache-2.0

"""A relay between the dashboard and Cinder, which counts and can fail.

When a user logs in, Horizon gets the address of Cinder from Keystone's catalog
and keeps it for the session. The catalog has the address of the relay only
during a login, so that nothing else uses it.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import functools
from http import client
from http import server
import json
import socket
import threading
import time
from typing import Any

from rbd_volume_options import definitions

_CINDER = '127.0.0.1:8776'
_TYPES = ('volumev3', 'block-storage')
_MEMCACHED = ('127.0.0.1', 11211)
# Seconds.
_PATIENCE = 10
# Headers of a connection, which the relay does not keep open.
_OF_CONNECTION = {'connection', 'keep-alive', 'transfer-encoding'}

#: Part of the path of the request for the options of volume types.
OFFERS = definitions.ROUTE


@dataclasses.dataclass
class Answer:
    """A response of Cinder."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


Change = Callable[[Answer], Answer]


def broken(answer: Answer) -> Answer:
    """Respond with an internal error."""
    return Answer(500, [], b'')


def absent(answer: Answer) -> Answer:
    """Respond as Cinder does without the API extension."""
    return Answer(404, [], b'')


def slow(answer: Answer) -> Answer:
    """Respond after the timeout of the dashboard."""
    time.sleep(4)
    return answer


def without(name: str, key: str, field: str) -> Change:
    """Remove a field of a key of a volume type from the response."""

    def change(answer: Answer) -> Answer:
        body = json.loads(answer.body)
        for each in body['volume_types']:
            if each['name'] == name:
                del each['options'][key][field]
        return Answer(answer.status, answer.headers, json.dumps(body).encode())

    return change


class Relay:
    """The relay; it runs until the process ends.

    :ivar asked: the method and path of each request
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._changes: list[tuple[str, Change]] = []
        handler = functools.partial(_Handler, self)
        self._server = server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, daemon=True
        ).start()

    @property
    def address(self) -> str:
        """Host and port."""
        return f'127.0.0.1:{self._server.server_port}'

    @contextlib.contextmanager
    def in_catalog(self, operator: Any) -> Iterator[None]:
        """Put the relay into the catalog, in place of Cinder.

        :param operator: a connection of an administrator
        """
        identity = operator.identity
        types = [
            each.id for each in identity.services() if each.type in _TYPES
        ]
        endpoints = [
            each
            for each in identity.endpoints(interface='public')
            if each.service_id in types
        ]
        try:
            for each in endpoints:
                url = each.url.replace(_CINDER, self.address)
                identity.update_endpoint(each.id, url=url)
            yield
        finally:
            for each in endpoints:
                url = each.url.replace(self.address, _CINDER)
                identity.update_endpoint(each.id, url=url)

    @contextlib.contextmanager
    def changed(self, words: str, change: Change) -> Iterator[None]:
        """Change the responses to requests whose path contains words."""
        self._changes.append((words, change))
        try:
            yield
        finally:
            self._changes.pop()

    def count(self, words: str = OFFERS) -> int:
        """Return the number of requests whose path contains words."""
        return sum(words in each for each in self.asked)

    def answer(self, request: str, answer: Answer) -> Answer:
        """Return the response to a request, with the changes."""
        for words, change in self._changes:
            if words in request:
                answer = change(answer)
        return answer


class _Handler(server.BaseHTTPRequestHandler):
    """Forwards a request to Cinder."""

    def __init__(self, relay: Relay, *arguments: Any) -> None:
        self._relay = relay
        super().__init__(*arguments)

    def _forward(self) -> None:
        request = f'{self.command} {self.path}'
        self._relay.asked.append(request)
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        connection = client.HTTPConnection(_CINDER)
        try:
            connection.request(
                self.command, self.path, body or None, dict(self.headers)
            )
            response = connection.getresponse()
            answer = Answer(
                response.status, response.getheaders(), response.read()
            )
        finally:
            connection.close()
        # The dashboard may have given up.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._send(self._relay.answer(request, answer))

    do_DELETE = do_GET = do_POST = do_PUT = _forward

    def _send(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in {*_OF_CONNECTION, 'content-length'}:
                self.send_header(name, value)
        self.send_header('Content-Length', str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing; tests read the list of requests."""


@functools.cache
def relay() -> Relay:
    """Return the relay of this process."""
    return Relay()


def forget_offers() -> None:
    """Remove the cached options of volume types, as after a minute."""
    forget(b'rbd-volume-options-')


def forget(words: bytes) -> None:
    """Remove what the dashboard cached under keys that contain words."""
    with (
        socket.create_connection(_MEMCACHED, _PATIENCE) as connection,
        connection.makefile('rwb', buffering=0) as stream,
    ):
        stream.write(b'lru_crawler metadump all\r\n')
        lines = list(iter(lambda: stream.readline().rstrip(), b'END'))
        for line in lines:
            if words in line:
                # memcached encodes colons.
                name = line.split()[0].removeprefix(b'key=')
                key = name.replace(b'%3A', b':').replace(b'%3a', b':')
                stream.write(b'delete %s\r\n' % key)
                stream.readline()
