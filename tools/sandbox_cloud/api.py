# SPDX-License-Identifier: Apache-2.0

"""Calls to the cloud's own APIs, as its administrator.

Uses plain HTTP: the startup of the openstack client takes longer than all
calls that a new cloud needs.
"""

from __future__ import annotations

import http.client
import json
import pathlib
from typing import Any
from typing import BinaryIO
import urllib.error
import urllib.request

from sandbox_cloud import errors

KEYSTONE = 'http://127.0.0.1:5000/v3'
CINDER = 'http://127.0.0.1:8776/v3'
GLANCE = 'http://127.0.0.1:9292/v2'
NOVA = 'http://127.0.0.1:8774/v2.1'
PLACEMENT = 'http://127.0.0.1:8778'
REGION = 'RegionOne'

Body = dict[str, Any]

# Versions of APIs whose oldest version is not sufficient.
_VERSIONS = {PLACEMENT: 'placement 1.4'}


class Api:
    """An administrator's session."""

    def __init__(self, password: str) -> None:
        self._password = password
        self._token: str | None = None
        self.project = ''

    def _login(self) -> str:
        domain = {'id': 'default'}
        user = {
            'name': 'admin',
            'domain': domain,
            'password': self._password,
        }
        body = {
            'auth': {
                'identity': {
                    'methods': ['password'],
                    'password': {'user': user},
                },
                'scope': {'project': {'name': 'admin', 'domain': domain}},
            }
        }
        headers, answer = _request('POST', f'{KEYSTONE}/auth/tokens', body, {})
        self.project = answer['token']['project']['id']
        return str(headers['X-Subject-Token'])

    def call(self, method: str, url: str, body: Body | None = None) -> Body:
        """Call an API; return the body of the answer."""
        return _request(method, url, body, self._headers(url))[1]

    def upload(self, url: str, path: pathlib.Path) -> None:
        """Upload a file unchanged."""
        headers = {
            **self._headers(url),
            'Content-Type': 'application/octet-stream',
            'Content-Length': str(path.stat().st_size),
        }
        with path.open('rb') as content:
            _request('PUT', url, content, headers)

    def _headers(self, url: str) -> dict[str, str]:
        if self._token is None:
            self._token = self._login()
        headers = {'X-Auth-Token': self._token}
        for start, version in _VERSIONS.items():
            if url.startswith(start):
                headers['OpenStack-API-Version'] = version
        return headers

    def cinder(self, method: str, path: str, body: Body | None = None) -> Body:
        """Call Cinder."""
        return self.call(method, f'{CINDER}{path}', body)

    def ensure(self, kind: str, body: Body, **match: str) -> str:
        """Return the ID of a resource in Keystone; create it if missing.

        :param kind: the kind of the resource in the singular, such as ``user``
        """
        url = f'{KEYSTONE}/{kind}s'
        wanted = match or {'name': body['name']}
        for item in self.call('GET', url)[f'{kind}s']:
            if all(item.get(key) == value for key, value in wanted.items()):
                return str(item['id'])
        return str(self.call('POST', url, {kind: body})[kind]['id'])


def _request(
    method: str,
    url: str,
    body: Body | BinaryIO | None,
    headers: dict[str, str],
) -> tuple[http.client.HTTPMessage, Body]:
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(  # noqa: S310 - our own addresses
        url,
        method=method,
        data=data,
        headers={'Content-Type': 'application/json', **headers},
    )
    # No proxy: everything is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answer:
            text = answer.read()
            return answer.headers, json.loads(text) if text else {}
    except urllib.error.HTTPError as error:
        reason = error.read().decode(errors='replace')[:500]
        raise errors.SandboxError(
            f'{method} {url}: {error.code} {reason}'
        ) from error
    except OSError as error:
        raise errors.SandboxError(f'{method} {url}: {error}') from error
