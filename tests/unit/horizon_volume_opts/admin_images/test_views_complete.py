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

"""No part of the list, or of an audit, is missing silently."""

from typing import Any
from unittest import mock

from django.utils import translation

from horizon_volume_opts.admin_images import sources
from horizon_volume_opts.admin_images import views
from tests.unit.horizon_volume_opts.admin_images import fake_cinder
from tests.unit.horizon_volume_opts.admin_images import page_case

_PATH = page_case.PATH
_CSV = f'{_PATH}csv/'
_MORE = 'name="more"'


class IncompleteTestCase(page_case.PageCase):
    def setUp(self) -> None:
        super().setUp()
        self.have('silver', page_case.MAP)
        self.have('bronze', page_case.MAP)
        patch = mock.patch.object(sources, '_PAGE', 1)
        patch.start()
        self.addCleanup(patch.stop)

    def check_refused(self, text: str) -> None:
        """Check that no file is sent, and that the page shows the reason."""
        response = self.client.get(_CSV, {'type': 'gold'})
        self.assertRedirects(
            response, f'{_PATH}?type=gold', fetch_redirect_response=False
        )
        self.assertContains(self.get(), text)

    def test_csv_of_a_slow_cinder(self) -> None:
        with mock.patch.object(sources, 'BUDGET', -1):
            self.check_refused('The list of RBD images is not complete.')
        self.client.post(_PATH, {'more': '1'})
        response = self.client.get(_CSV)
        self.assertEqual(200, response.status_code)
        lines = b''.join(response.streaming_content).decode().splitlines()
        self.assertEqual(4, len(lines))

    def test_csv_of_a_cinder_that_fails(self) -> None:
        self.cinder.volumes.fails_after = 0
        self.check_refused('Unable to read the RBD images.')

    def test_pages_before_a_failure_are_shown(self) -> None:
        self.cinder.volumes.fails_after = 2
        response = self.get()
        self.assertContains(response, 'Unable to read the RBD images.')
        self.assertContains(response, '2 images so far')
        self.assertContains(response, _MORE)
        self.cinder.volumes.fails_after = 9
        self.client.post(_PATH, {'more': '1'})
        self.assertContains(self.get(), '1 to 3 of 3 images')
        # The first two pages were not read again.
        self.assertEqual(4, self.cinder.volumes.requests)

    def test_filters_are_kept(self) -> None:
        address = f'{_PATH}?type=gold&sort=-size'
        self.assertContains(
            self.client.get(address),
            f'action="{address}"'.replace('&', '&amp;'),
        )
        for button in ('more', 'refresh'):
            response = self.client.post(address, {button: '1'})
            self.assertRedirects(
                response, address, fetch_redirect_response=False
            )


class FindingsTestCase(page_case.PageCase):
    def have_findings(self, number: int) -> None:
        self.audited(
            *(
                {'kind': 'orphan-disk', 'image': f'{n}_disk'}
                for n in range(number)
            )
        )

    def test_more_than_the_page_shows(self) -> None:
        self.have_findings(1234)
        response = self.get()
        self.assertContains(response, '100 of 1,234 findings')
        self.assertContains(response, 'disk without an instance')
        self.assertContains(response, f'href="{_CSV}findings/"')
        response = self.client.get(f'{_CSV}findings/')
        self.assertIn('rbd-findings.csv', response['Content-Disposition'])
        lines = b''.join(response.streaming_content).decode().splitlines()
        self.assertEqual(1235, len(lines))

    def test_of_a_volume(self) -> None:
        (volume,) = self.cinder.volumes.all
        self.audited({'kind': 'slow-deletion', 'volume': volume.id})
        response = self.get()
        self.assertContains(response, '<td>slow deletion</td>')
        self.assertContains(
            response, '<option value="slow-deletion">slow deletion</option>'
        )
        self.assertNotContains(response, 'Findings Without a Volume')
        response = self.client.get(f'{_PATH}?finding=slow-deletion')
        self.assertContains(response, '1 to 1 of 1 images')

    def test_report_that_cannot_be_read(self) -> None:
        self.audited(version=99)
        response = self.get()
        self.assertContains(response, 'the report of the audit cannot be read')
        self.assertNotContains(response, 'there is no report of an audit')


class NumbersTestCase(page_case.PageCase):
    def test_grouped_in_the_language_of_the_user(self) -> None:
        self.cinder.volumes.all += [
            fake_cinder.volume(page_case.MAP) for _ in range(1999)
        ]
        vars(self.cinder.volumes.all[0])['size'] = 12345
        self.addCleanup(translation.activate, translation.get_language())
        for language, shown in (
            ('en', ('2,000 images', '12,345', '1,999 object map,')),
            ('de', ('2.000 Abbildern', '12.345', '1.999 Object-Map,')),
        ):
            response = self.client.get(
                f'{_PATH}?sort=-size', HTTP_ACCEPT_LANGUAGE=language
            )
            page = ' '.join(response.content.decode().split())
            for text in (*shown, f'<td>{shown[0].split()[0]}</td>'):
                self.assertIn(text, page)

    def test_page_size_of_a_cookie(self) -> None:
        for size in ('0', '-3'):
            self.client.cookies['API_RESULT_PAGE_SIZE'] = size
            self.assertContains(self.get(), '1 to 1 of 1 images')

    def test_default_page_size(self) -> None:
        self.cinder.volumes.all += [
            fake_cinder.volume(page_case.MAP) for _ in range(25)
        ]
        self.client.cookies['API_RESULT_PAGE_SIZE'] = '0'
        shown: Any = f'1 to {views._PAGE_SIZE} of 26 images'
        self.assertContains(self.get(), shown)
