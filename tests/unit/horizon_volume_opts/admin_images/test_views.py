# SPDX-License-Identifier: Apache-2.0

"""The page, as shown to an administrator."""

import json
import pathlib
import re
import tempfile
import time
import types
from typing import Any
from unittest import mock

from django import test
from django.test import utils
from django.utils import translation
import requests.exceptions

from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import views
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_PATH = '/admin/rbd_images/'
_MAP = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']
_MORE = 'name="more"'
_LIST = 'GET /v3/p/volumes/detail'
_UNREACHABLE = requests.exceptions.ConnectionError('no route')

#: Seconds that a page with 10,000 images may take. The administrator's guide
#: has the measured times.
_LIMIT = 3.0


class PageTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.login('admin')
        self.client = test.Client(raise_request_exception=True)
        self.have('gold', _MAP)

    def assert_shows(self, response: Any, *texts: str) -> None:
        page = response.content.decode()
        for text in texts:
            self.assertIn(text, page)

    def assert_hides(self, response: Any, *texts: str) -> None:
        page = response.content.decode()
        for text in texts:
            self.assertNotIn(text, page)

    def have(
        self, volume_type: str, features: list[str], number: int = 1
    ) -> None:
        """Add volumes."""
        for _ in range(number):
            number = len(self.cloud.volumes)
            self.cloud.add_volume(
                f'v{number}',
                name=f'volume {number}',
                volume_type=volume_type,
                **fake_cloud.recorded(features),
            )

    def get(self, **query: str) -> Any:
        """Return the response of the page."""
        response = self.client.get(_PATH, query)
        self.assertEqual(200, response.status_code)
        return response

    def audited(self, *findings: dict[str, Any], **values: Any) -> None:
        """Let the panel show a report of an audit."""
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

    # What the page shows

    def test_counts_layouts_and_list(self) -> None:
        self.have('gold', ['layering'])
        response = self.get()
        self.assert_shows(
            *(response, '1 not checked', '1 none', 'Read at'),
            'there is no report of an audit',
            '1 to 2 of 2 images',
            '<td>no striping</td>',
            '<a href="/admin/volumes/v0/" title="volume 0">',
            '<a href="/admin/volumes/v1/" title="volume 1">',
        )
        self.assert_hides(response, _MORE)
        self.assert_hides(response, 'class="pagination"')
        page = response.content.decode()
        # Counts come first, and a column without a value is not shown.
        places = [
            page.index(text)
            for text in ('<svg', 'id="layouts"', 'id="rbd-images-list"')
        ]
        self.assertEqual(sorted(places), places)
        self.assertNotIn('Data Pool of Ceph', page[places[-1] :])

    def test_bars_are_as_long_as_their_counts(self) -> None:
        self.have('silver', ['layering'], 3)
        self.have('silver', _MAP, 2)
        page = self.get().content.decode()
        self.assertLess(
            page.index('<strong title="silver"'), page.index('gold')
        )
        self.assertEqual(2, page.count('viewBox="0 0 5 16"'))
        self.assertEqual(
            [('0', '2'), ('2', '3'), ('0', '1')],
            re.findall(r'<rect x="(\d+)" y="0" width="(\d+)"', page),
        )

    def test_numbers_in_any_language(self) -> None:
        self.have('gold', _MAP, 1999)
        self.cloud.volumes['v0'].update(size=12345, name='a')
        self.addCleanup(translation.activate, translation.get_language())
        for language, shown in (
            ('en', ('2,000 images', '12,345', '2,000 not checked')),
            ('de', ('2.000 Abbildern', '12.345', '2.000 nicht geprüft')),
        ):
            response = self.client.get(_PATH, HTTP_ACCEPT_LANGUAGE=language)
            page = ' '.join(response.content.decode().split())
            for text in shown:
                self.assertIn(text, page)
            # A comma would start another coordinate.
            self.assertIn('width="2000" height="16"', page)
            self.assertIn('page=100"', page)

    def test_nothing_that_a_content_security_policy_refuses(self) -> None:
        text = self.get().content.decode()
        main = text[text.index('class="rbd-images"') :]
        main = main[: main.index('</tbody>', main.index('-images-list'))]
        for refused in ('style=', '<script', 'onclick'):
            self.assertNotIn(refused, main)

    # Filters and pages

    def test_filters_and_pages(self) -> None:
        self.have('silver', ['layering'], 24)
        for query, shown in (
            ({'type': 'silver', 'page': '2'}, '21 to 24 of 24 images'),
            ({'map': 'unchecked'}, '1 to 1 of 1 images'),
            ({'map': '"><script>'}, 'No images'),
            # A number beyond the last page selects the last page.
            ({'page': '9'}, '21 to 25 of 25 images'),
            ({'page': '\u00b2', 'secret': '1'}, '1 to 20 of 25 images'),
            ({'page': '9' * 99}, '21 to 25 of 25 images'),
        ):
            response = self.get(**query)
            self.assert_shows(response, shown)
            self.assert_hides(response, '"><script>')
        self.assert_shows(self.get(type='silver'), '?type=silver&amp;page=2"')
        self.assertEqual(1, self.cloud.asked.count(_LIST))

    def test_each_page_has_a_number(self) -> None:
        self.have('silver', _MAP, 224)
        page = self.get(page='6').content.decode()
        numbers = re.findall(r'<a href="\?page=(\d+)"', page)
        self.assertEqual(
            ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12'],
            numbers,
        )
        self.assertIn('aria-current="page">6<', page)

    def test_page_size_of_a_cookie(self) -> None:
        self.have('gold', _MAP, 25)
        for size in ('0', '-3'):
            self.client.cookies['API_RESULT_PAGE_SIZE'] = size
            shown = f'1 to {views._PAGE_SIZE} of 26 images'
            self.assert_shows(self.get(), shown)

    def test_ten_thousand(self) -> None:
        for n in range(9999):
            features = _MAP if n % 3 else ['layering']
            layout = (1 << (20 + n % 4), 65536, 1 + n % 16)
            self.cloud.add_volume(
                f'ident-{n}',
                volume_type=f'type {n % 7}',
                name=f'v{n:04d}',
                **fake_cloud.recorded(features, layout),
            )
        # A busy machine reads the whole list, too.
        with mock.patch.object(images, 'BUDGET', 60):
            self.get()
        # From the cache.
        for words, shown in (
            ('page=500', '9,981 to 10,000 of 10,000 images'),
            ('page=250', '4,981 to 5,000 of 10,000 images'),
            ('map=unchecked&type=type 3', '1 to 20 of 952 images'),
        ):
            # Other processes do not change the processor time much.
            begun = time.process_time()
            response = self.client.get(f'{_PATH}?{words}')
            took = time.process_time() - begun
            self.assert_shows(response, shown)
            self.assertLess(took, _LIMIT, words)
        self.assertEqual(11, self.cloud.asked.count(_LIST))

    # Reading

    def test_kept_until_read_again(self) -> None:
        self.get()
        self.have('silver', _MAP)
        self.assert_hides(self.get(), 'silver')
        address = f'{_PATH}?map=none&type=gold'
        self.assert_shows(
            self.client.get(address),
            f'action="{address}"'.replace('&', '&amp;'),
        )
        response = self.client.post(address, {'refresh': '1'})
        self.assertEqual(address, response.headers['Location'])
        self.assert_shows(self.get(), 'silver')

    def test_continued_where_there_is_more(self) -> None:
        with (
            mock.patch.object(images, '_PAGE', 1),
            mock.patch.object(images, 'BUDGET', -1),
        ):
            self.have('silver', _MAP)
            response = self.get()
            self.assert_shows(response, '1 image so far')
            self.assert_shows(response, _MORE)
            self.assert_hides(response, 'silver')
            # Progress is kept if a request fails, or if the volume to
            # continue after was deleted.
            self.cloud.faults = {'GET /v3/p': _UNREACHABLE}
            self.client.post(_PATH, {'more': '1'})
            self.cloud.faults = {}
            self.assert_shows(self.get(), '1 image so far')
            del self.cloud.volumes['v0']
            for _ in range(3):
                self.client.post(_PATH, {'more': '1'})
            response = self.get()
        self.assert_shows(response, 'silver')
        self.assert_shows(response, 'gold')
        self.assert_hides(response, _MORE)

    def test_pages_before_a_failure_are_shown(self) -> None:
        self.have('silver', _MAP, 2)
        self.cloud.meanwhile[_LIST] = lambda: self.cloud.faults.update(
            {_LIST: _UNREACHABLE} if self.cloud.asked.count(_LIST) > 1 else {}
        )
        with mock.patch.object(images, '_PAGE', 1):
            response = self.get()
        self.assert_shows(response, 'Unable to read the RBD images.')
        self.assert_shows(response, '2 images so far')
        self.assert_shows(response, _MORE)

    def test_a_cinder_that_does_not_answer(self) -> None:
        self.cloud.faults = {'GET /v3/p': _UNREACHABLE}
        response = self.get()
        self.assert_shows(response, 'Unable to read the RBD images.')
        self.assert_hides(response, 'Read at')
        # Nothing is cached.
        self.cloud.faults = {}
        self.assert_shows(self.get(), 'gold')

    def test_another_region_or_keystone_has_other_numbers(self) -> None:
        def key(**where: str) -> str:
            view = views.IndexView()
            user = {'endpoint': 'http://k', 'services_region': 'One', **where}
            view.request = types.SimpleNamespace(
                user=types.SimpleNamespace(**user)
            )
            return view._key()

        others = {
            key(services_region='A region'),
            key(endpoint='http://other'),
        }
        self.assertEqual(3, len({key(), *others}))
        for each in others:
            # The limit of memcached.
            self.assertLess(len(each), 250)
            self.assertNotIn(' ', each)

    # The audit

    def test_findings_are_counted_and_link_to_volumes(self) -> None:
        image = 'volume-v0'
        self.audited(
            {'kind': 'slow-deletion', 'volume': 'v0', 'image': image},
            *({'kind': 'orphan-disk', 'image': f'{n}_x'} for n in range(1233)),
            images=[{'name': image, 'object_map': 'valid'}],
        )
        response = self.get()
        self.assert_shows(
            response,
            '100 of 1,234 findings',
            '(slow-deletion: 1, orphan-disk: 1,233)',
            '<td>98_x</td>',
            f'<a href="/admin/volumes/v0/">{image}</a>',
            '1 valid',
            'are from the audit of 2026-01-02',
        )

    def test_report_that_cannot_be_read(self) -> None:
        self.audited(version=99)
        response = self.get()
        self.assert_shows(response, 'the report of the audit cannot be read')
        self.assert_hides(response, 'there is no report of an audit')
