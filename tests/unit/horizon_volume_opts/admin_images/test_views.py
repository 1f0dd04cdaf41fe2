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

"""The page, as shown to an administrator."""

import configparser
from importlib import metadata
import time
import types
from unittest import mock

from cliff import commandmanager
from django.utils import html

from horizon_volume_opts.admin_images import conversions
from horizon_volume_opts.admin_images import sources
from horizon_volume_opts.admin_images import views
from rbd_operator import shell
from tests import tree
from tests.unit import base
from tests.unit.horizon_volume_opts.admin_images import fake_cinder
from tests.unit.horizon_volume_opts.admin_images import page_case

_PATH = page_case.PATH
_MAP = page_case.MAP
_MORE = 'name="more"'

#: Seconds that a page with 10,000 images may take. The administrator's guide
#: has the measured times.
_LIMIT = 3.0


# A separate cache: django-compressor keeps the first cache that it finds and
# fills it beyond Django's limit, which evicts other entries.


class PageTestCase(page_case.PageCase):
    def test_list_plot_and_time(self) -> None:
        self.have('gold', ['layering'])
        response = self.get()
        self.assertContains(response, '<svg')
        self.assertContains(response, '1 object map, not checked')
        self.assertContains(response, 'Read at')
        self.assertContains(response, 'there is no report of an audit')
        self.assertContains(response, '1 to 2 of 2 images')
        self.assertContains(response, '<a href="/identity/p/detail/">demo</a>')
        for volume in self.cinder.volumes.all:
            self.assertContains(
                response,
                f'<a href="/admin/volumes/{volume.id}/">{volume.name}</a>',
            )
        self.assertNotContains(response, _MORE)

    def test_running_conversions(self) -> None:
        """They are read with each view of the page, unlike the list."""
        self.assertNotContains(self.get(), 'Running Conversions')
        told = {'percent': 42, 'at': '2026-01-02T03:04:05Z'}
        volume = fake_cinder.volume(
            _MAP,
            status='retyping',
            name='<b>',
            conversion={**told, 'reason': None, 'new_type_id': '2'},
        )
        self.cinder.volumes.all.append(volume)
        response = self.get()
        row = response.content.decode().partition('data-conversion')[2]
        for text in ('&lt;b&gt;', '>rbd<', '>striped<', '42 %', '03:04:05'):
            self.assertIn(text, row.partition('</tr>')[0])
        self.assertContains(response, 'href="#rbd-images-commands"')
        with mock.patch.object(
            conversions, 'read', autospec=True, side_effect=OSError
        ):
            response = self.get()
        self.assertContains(response, 'Unable to read the running')
        self.assertContains(response, '1 to 1 of 1 images')

    def test_filter_sort_and_pages(self) -> None:
        for _ in range(24):
            self.have('silver', ['layering'])
        response = self.client.get(_PATH, {'type': 'silver', 'page': '2'})
        self.assertContains(response, '21 to 24 of 24 images')
        self.assertContains(response, '?type=silver&amp;sort=size')
        self.assertContains(response, '?type=silver"')
        self.assertNotContains(response, '>volume 0<')
        # A number beyond the last page selects the last page.
        response = self.client.get(_PATH, {'page': '9'})
        self.assertContains(response, '21 to 25 of 25 images')
        self.assertEqual(1, self.cinder.volumes.requests)

    def test_nothing_is_selected(self) -> None:
        response = self.client.get(_PATH, {'q': '"><script>'})
        self.assertContains(response, 'No images')
        self.assertNotContains(response, '"><script>')

    def test_csv_holds_filtered_images(self) -> None:
        self.have('silver', None)
        response = self.client.get(f'{_PATH}csv/', {'type': 'gold'})
        lines = b''.join(response.streaming_content).decode().splitlines()
        self.assertIn('rbd-images.csv', response['Content-Disposition'])
        self.assertEqual(2, len(lines))
        self.assertIn('volume 0,demo,1,,gold,4 MiB,none', lines[1])

    def test_used_space(self) -> None:
        """With the decimal sign of the user's language."""
        (volume,) = self.cinder.volumes.all
        image = {
            'name': f'volume-{volume.id}',
            'object_map': 'valid',
            'used': 3 * 2**28,
        }
        self.audited(images=[image])
        self.assertContains(self.get(), '<td>0.75</td>')
        response = self.client.get(_PATH, HTTP_ACCEPT_LANGUAGE='de')
        self.assertContains(response, '<td>0,75</td>')

    def test_ten_thousand(self) -> None:
        volumes = self.cinder.volumes
        volumes.all += [
            fake_cinder.volume(
                _MAP if n % 3 else ['layering'],
                volume_type=f'type {n % 7}',
                name=f'v{n:04d}',
                layout=(1 << (20 + n % 4), 65536, 1 + n % 16),
            )
            for n in range(9999)
        ]
        self.get()
        self.assertEqual(11, volumes.requests)
        # From the cache.
        for words, shown in (
            ('q=v9998&sort=-size', '1 to 1 of 1 images'),
            ('page=500', '9,981 to 10,000 of 10,000 images'),
            ('sort=features&page=250', '4,981 to 5,000 of 10,000 images'),
            ('map=unchecked&type=type 3', '1 to 20 of 952 images'),
        ):
            # Other processes do not change the processor time much.
            begun = time.process_time()
            response = self.client.get(f'{_PATH}?{words}')
            took = time.process_time() - begun
            self.assertContains(response, shown)
            self.assertLess(took, _LIMIT, words)
        self.assertEqual(11, volumes.requests)

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
        # A comma would start another coordinate.
        for _ in range(2):
            self.have('gold', ['layering'])
        # Django keeps the language of the last request in its thread.
        response = self.client.get(_PATH, HTTP_ACCEPT_LANGUAGE='de')
        text = response.content.decode()
        drawn = text[text.index('<svg') : text.index('</svg>')]
        for attribute in ('x="', 'width="'):
            for part in drawn.split(attribute)[1:]:
                value = part.split('"')[0]
                self.assertNotIn(',', value)

    def test_kept_until_read_again(self) -> None:
        self.get()
        self.have('silver', _MAP)
        self.assertNotContains(self.get(), 'silver')
        response = self.client.post(_PATH, {'refresh': '1'})
        self.assertRedirects(response, _PATH, fetch_redirect_response=False)
        self.assertContains(self.get(), 'silver')

    def test_continued_where_there_is_more(self) -> None:
        with (
            mock.patch.object(sources, '_PAGE', 1),
            mock.patch.object(sources, 'BUDGET', -1),
        ):
            self.have('silver', _MAP)
            response = self.get()
            self.assertContains(response, '1 image so far')
            self.assertContains(response, _MORE)
            self.assertNotContains(response, 'silver')
            # Progress is kept if a request fails, or if the volume to
            # continue after was deleted.
            self.asked.side_effect = OSError('no route')
            self.client.post(_PATH, {'more': '1'})
            self.asked.side_effect = None
            self.assertContains(self.get(), '1 image so far')
            del self.cinder.volumes.all[0]
            for _ in range(3):
                self.client.post(_PATH, {'more': '1'})
            response = self.get()
        self.assertContains(response, 'silver')
        self.assertContains(response, 'gold')
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
            # The limit of memcached.
            self.assertLess(len(each), 250)
            self.assertNotIn(' ', each)

    def test_a_cinder_that_does_not_answer(self) -> None:
        self.asked.side_effect = OSError('no route')
        response = self.get()
        self.assertContains(response, 'Unable to read the RBD images.')
        self.assertNotContains(response, 'Read at')
        # Nothing is cached.
        self.asked.side_effect = None
        self.assertContains(self.get(), 'gold')


class CommandsTestCase(base.TestCase):
    """The commands on the page exist."""

    def test_each_exists(self) -> None:
        found = configparser.ConfigParser()
        found.read(tree.ROOT / 'setup.cfg')
        plugin = found['entry_points']['openstack.volume.v3']
        # The checkout is not installed and has no version.
        with mock.patch.object(
            metadata, 'version', autospec=True, return_value='1'
        ):
            ours = shell.Shell().command_manager
        for line, _ in views.COMMANDS:
            program, *words = line.split()
            words = [each for each in words if each.replace('-', '').isalpha()]
            words = [each for each in words if not each.startswith('-')]
            if program == 'cinder-rbd-ext':
                ours.find_command(words)
            elif 'rbd' in words:
                self.assertIn(f'{"_".join(words)} =', plugin)
            else:
                stock = commandmanager.CommandManager('openstack.volume.v3')
                stock.find_command(words)
