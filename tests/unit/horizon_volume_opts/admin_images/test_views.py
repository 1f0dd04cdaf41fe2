# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The page, as an administrator gets it."""

import configparser
from importlib import metadata
import types
from typing import Any
from unittest import mock

from cliff import commandmanager
from django.core import cache
from django.test import utils
from django.utils import html
from openstack_dashboard import api
from openstack_dashboard.test import helpers

from cinder_rbd_ext.client import shell
from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import sources
from horizon_volume_opts.admin_images import views
from tests import tree
from tests.unit import base
from tests.unit.horizon_volume_opts.admin_images import fake_cinder

_PATH = '/admin/rbd_images/'
_MORE = 'name="more"'
_MAP = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']


class Audit(sources.Source):
    """A source that has looked into images."""

    slug = 'audit'
    knows_invalid = True
    description = 'From an audit.'

    def read(
        self, request: Any, found: census.Census | None = None
    ) -> census.Census:
        """Return what the audit found."""
        found = census.Census('2026-01-02T03:04:05+00:00', complete=True)
        found.add([census.Image('p', 'gold', census.MapState.INVALID)])
        return found


# One of our own: django-compressor keeps the cache that it saw first, and puts
# more into it than Django's limit, so that others' entries go.
_CACHES = {
    'default': {
        'BACKEND': 'django.core.cache.backends.locmem.LocMemCache',
        'LOCATION': __name__,
        'OPTIONS': {'MAX_ENTRIES': 10000},
    }
}


@utils.override_settings(CACHES=_CACHES)
class PageTestCase(helpers.BaseAdminViewTests):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(cache.cache.clear)
        self.cinder = fake_cinder.Client()
        patch = mock.patch.object(
            api.cinder, 'cinderclient', autospec=True, return_value=self.cinder
        )
        self.asked = patch.start()
        self.addCleanup(patch.stop)
        self.have('gold', _MAP)

    def have(self, volume_type: str, features: list[str] | None) -> None:
        made = fake_cinder.volume(features, volume_type=volume_type)
        self.cinder.volumes.all.append(made)

    def get(self) -> Any:
        response = self.client.get(_PATH)
        self.assertEqual(200, response.status_code)
        return response

    def test_numbers_plot_and_time(self) -> None:
        self.have('gold', ['layering'])
        response = self.get()
        self.assertContains(response, '<svg')
        self.assertContains(response, '1 with object map')
        self.assertContains(response, 'Counted at')
        self.assertContains(response, 'only known while an image is open')
        self.assertNotContains(response, _MORE)
        self.assertNotContains(response, 'Map Invalid')

    def test_nothing_that_a_content_security_policy_refuses(self) -> None:
        text = self.get().content.decode()
        main = text[text.index('class="rbd-images"') :]
        main = main[: main.index('Commands')]
        self.assertNotIn('style=', main)
        self.assertNotIn('<script', main)
        self.assertNotIn('onclick', main)

    def test_names_are_text(self) -> None:
        self.have('<b>"bold"</b>', _MAP)
        response = self.get()
        self.assertNotContains(response, '<b>"bold"')
        self.assertContains(response, html.escape('<b>"bold"</b>'))

    def test_numbers_in_any_language(self) -> None:
        # A comma in a coordinate is another coordinate.
        for _ in range(2):
            self.have('gold', ['layering'])
        response = self.client.get(_PATH, HTTP_ACCEPT_LANGUAGE='de')
        text = response.content.decode()
        drawn = text[text.index('<svg') : text.index('</svg>')]
        for attribute in ('x="', 'width="'):
            for part in drawn.split(attribute)[1:]:
                value = part.split('"')[0]
                self.assertNotIn(',', value)

    def test_kept_until_counted_again(self) -> None:
        self.get()
        self.have('silver', _MAP)
        self.assertNotContains(self.get(), 'silver')
        response = self.client.post(_PATH, {'refresh': '1'})
        self.assertRedirects(response, _PATH, fetch_redirect_response=False)
        self.assertContains(self.get(), 'silver')

    def test_counted_on_where_there_is_more(self) -> None:
        with (
            mock.patch.object(sources, '_PAGE', 1),
            mock.patch.object(sources.AttributesSource, 'budget', -1),
        ):
            self.have('silver', _MAP)
            response = self.get()
            self.assertContains(response, '1 image so far')
            self.assertContains(response, _MORE)
            self.assertNotContains(response, 'silver')
            self.client.post(_PATH, {'more': '1'})
            self.client.post(_PATH, {'more': '1'})
            response = self.get()
        self.assertContains(response, 'silver')
        self.assertNotContains(response, _MORE)

    def test_another_region_or_keystone_has_other_numbers(self) -> None:
        def key(**where: str) -> str:
            view = views.IndexView()
            user = {'endpoint': 'http://k', 'services_region': 'One', **where}
            view.request = types.SimpleNamespace(
                user=types.SimpleNamespace(**user)
            )
            return view._key()

        keys = {
            key(),
            key(services_region='A region'),
            key(endpoint='http://other'),
        }
        self.assertEqual(3, len(keys))
        self.assertEqual(key(), key())
        for each in keys:
            # What memcached takes.
            self.assertLess(len(each), 250)
            self.assertNotIn(' ', each)

    def test_a_cinder_that_does_not_answer(self) -> None:
        self.asked.side_effect = OSError('no route')
        response = self.get()
        self.assertContains(response, 'Unable to count the RBD images.')
        self.assertNotContains(response, 'Counted at')
        # Nothing of it is kept.
        self.asked.side_effect = None
        self.assertContains(self.get(), 'gold')

    def test_a_source_that_knows_invalid_maps(self) -> None:
        with mock.patch.object(views.IndexView, 'source_class', Audit):
            response = self.get()
        self.assertContains(response, 'From an audit.')
        self.assertContains(response, 'Map Invalid')
        self.assertContains(response, '1 map invalid')
        self.assertNotContains(response, 'only known while an image is open')


class CommandsTestCase(base.TestCase):
    """What the page says to run can be run."""

    def test_each_exists(self) -> None:
        found = configparser.ConfigParser()
        found.read(tree.ROOT / 'setup.cfg')
        plugin = found['entry_points']['openstack.volume.v3']
        # The checkout isn't installed, so has no version.
        with mock.patch.object(
            metadata, 'version', autospec=True, return_value='1'
        ):
            ours = shell.Shell().command_manager
        for line, _ in views.COMMANDS:
            program, *words = line.split()
            words = [each for each in words if each.isalpha()]
            if program == 'cinder-rbd-ext':
                ours.find_command(words)
            elif 'rbd' in words:
                self.assertIn(f'{"_".join(words)} =', plugin)
            else:
                stock = commandmanager.CommandManager('openstack.volume.v3')
                stock.find_command(words)
