# SPDX-License-Identifier: Apache-2.0

"""The base class of tests of the page."""

import json
import pathlib
import tempfile
from typing import Any
from unittest import mock

from django.core import cache
from django.test import utils
from django.utils import translation
from openstack_dashboard import api
from openstack_dashboard.test import helpers

from tests.unit.horizon_volume_opts.admin_images import fake_cinder

PATH = '/admin/rbd_images/'
MAP = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']

_CACHES = {
    'default': {
        'BACKEND': 'django.core.cache.backends.locmem.LocMemCache',
        'LOCATION': __name__,
        'OPTIONS': {'MAX_ENTRIES': 10000},
    }
}


@utils.override_settings(CACHES=_CACHES)
class PageCase(helpers.BaseAdminViewTests):
    """Base class of tests of the page, with a fake Cinder."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(cache.cache.clear)
        # The language of a request stays active in its thread.
        self.addCleanup(translation.deactivate)
        self.cinder = fake_cinder.Client()
        patch = mock.patch.object(
            api.cinder, 'cinderclient', autospec=True, return_value=self.cinder
        )
        self.asked = patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            api.keystone,
            'tenant_list',
            autospec=True,
            return_value=([fake_cinder.Thing(id='p', name='demo')], False),
        )
        patch.start()
        self.addCleanup(patch.stop)
        self.have('gold', MAP)

    def have(self, volume_type: str, features: list[str] | None) -> None:
        """Add a volume."""
        name = f'volume {len(self.cinder.volumes.all)}'
        made = fake_cinder.volume(features, volume_type=volume_type, name=name)
        self.cinder.volumes.all.append(made)

    def get(self) -> Any:
        """Return the response of the page."""
        response = self.client.get(PATH)
        self.assertEqual(200, response.status_code)
        return response

    def audited(self, *findings: dict[str, Any], **values: Any) -> None:
        """Let the panel show a report of an audit.

        :param findings: findings
        """
        nothing = dict.fromkeys(('pool', 'image', 'detail', 'volume'), '')
        report = {
            'version': 1,
            'taken': '2026-01-02T03:04:05+00:00',
            'findings': [{**nothing, **each} for each in findings],
            'images': [],
            **values,
        }
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, 'report')
        path.write_text(json.dumps(report))
        chosen = utils.override_settings(
            RBD_VOLUME_OPTIONS={'audit_report': str(path)}
        )
        chosen.enable()
        self.addCleanup(chosen.disable)
