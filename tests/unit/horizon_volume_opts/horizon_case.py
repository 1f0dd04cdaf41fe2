# SPDX-License-Identifier: Apache-2.0

"""Tests of Horizon's pages, with a fake cloud behind its clients."""

import datetime
import json
import types
from typing import Any
from unittest import mock
from urllib import parse

from django import test
from django import urls
from django.contrib.auth import models
from django.core import cache
from django.utils import translation
from openstack_auth import user as auth_user
from openstack_auth import utils as auth_utils
from openstack_dashboard import context_processors
import requests.adapters

from tests.unit import base
from tests.unit.horizon_volume_opts import fake_cloud

_SERVICES = {
    'volumev3': fake_cloud.CINDER,
    'compute': fake_cloud.NOVA,
    'image': fake_cloud.GLANCE,
    'identity': 'http://keystone.example/v3',
}


def _catalog() -> list[dict[str, Any]]:
    return [
        {
            'type': service,
            'name': service,
            'endpoints': [
                {
                    'interface': each,
                    'region': region,
                    'region_id': region,
                    'url': url,
                }
                for each in ('public', 'internal', 'admin')
                for region in ('r', 'other')
            ],
        }
        for service, url in _SERVICES.items()
    ]


def _later() -> datetime.datetime:
    now = datetime.datetime.now(tz=datetime.timezone.utc)
    return now + datetime.timedelta(hours=1)


class HorizonTestCase(base.TestCase):
    """Base class with the test client and a fake cloud, ``self.cloud``."""

    def setUp(self) -> None:
        super().setUp()
        # The language of a request stays active in its thread.
        self.addCleanup(translation.deactivate)
        cache.cache.clear()
        self.cloud = fake_cloud.Cloud()
        self.patch(requests.adapters.HTTPAdapter, 'send', self._send)
        self.login('member')
        self.patch(
            context_processors,
            'openstack',
            lambda request: {
                'JS_CATALOG': 'horizon',
                'authorized_tenants': [],
            },
        )
        self.client = test.Client(
            HTTP_X_REQUESTED_WITH='XMLHttpRequest',
            raise_request_exception=True,
        )

    def patch(self, target: Any, name: str, replacement: Any) -> None:
        """Replace an attribute until the test ends."""
        patcher = mock.patch.object(target, name, replacement)
        patcher.start()
        self.addCleanup(patcher.stop)

    def _send(self, request: Any, **kwargs: Any) -> requests.Response:
        return self.cloud.send(None, request, **kwargs)

    def request_to(self, path: str) -> Any:
        """Return a request of the user, as scripts of pages send it."""
        request = test.RequestFactory().get(
            path, headers={'X-Requested-With': 'XMLHttpRequest'}
        )
        request.user = auth_utils.get_user(request)
        return request

    def ask(self, path: str, **values: str) -> tuple[int, Any]:
        """Send a request to one of our routes; return status and answer."""
        address = f'/api/rbd_volume_options/{path}/?{parse.urlencode(values)}'
        request = self.request_to(address)
        response = urls.resolve(request.path).func(request)
        return response.status_code, json.loads(response.content)

    def check_done(self, response: Any) -> None:
        """Check that a form was accepted and redirects."""
        self.assertEqual(200, response.status_code)
        shown = response.context and response.context['form'].errors
        self.assertIn('X-Horizon-Location', response.headers, str(shown))

    def logout(self) -> None:
        """Log out."""
        self.patch(
            auth_utils, 'get_user', lambda request: models.AnonymousUser()
        )

    def login(self, *roles: str, user: str = 'u') -> None:
        """Log in as a user with roles."""

        def get_user(request: Any) -> Any:
            token = types.SimpleNamespace(
                id='t', expires=_later(), project={'domain_id': 'default'}
            )
            logged_in = auth_user.User(
                id=user,
                token=token,
                user=user,
                domain_id='default',
                user_domain_id='default',
                tenant_id='p',
                tenant_name='p',
                service_catalog=_catalog(),
                roles=[{'id': role, 'name': role} for role in roles],
                enabled=True,
                authorized_tenants=[],
                endpoint=_SERVICES['identity'],
                services_region='r',
            )
            logged_in._is_system_user = False
            return logged_in

        self.patch(auth_utils, 'get_user', get_user)
