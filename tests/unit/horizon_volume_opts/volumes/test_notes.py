# SPDX-License-Identifier: Apache-2.0

"""Notes in stock forms, with real Horizon views and clients."""

from typing import Any

from django.core import cache

from tests import runs
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_ASK = 'GET /v3/p/os-rbd-volume-options'
_MANAGE = '/admin/volumes/manage/'


@runs.tags(runs.RELEASES)
class NotesTestCase(horizon_case.HorizonTestCase):
    def page(self, path: str) -> str:
        response = self.client.get(path)
        self.assertEqual(200, response.status_code, path)
        return ' '.join(response.content.decode().split())

    def test_where_a_user_could_lose_options(self) -> None:
        path = '/project/backups/b/restore/'
        self.assertIn('of the default volume type', self.page(path))

    def test_not_where_no_type_has_options(self) -> None:
        path = '/project/backups/b/restore/'
        self.cloud.types = [fake_cloud.not_offered('lvm')]
        self.assertNotIn('data-rbd-note', self.page(path))
        for status in (404, 500):
            cache.cache.clear()
            self.cloud.faults = {_ASK: fake_cloud.Refused(status, 'no')}
            self.assertNotIn('data-rbd-note', self.page(path))


@runs.tags(runs.RELEASES)
class ManageTestCase(horizon_case.HorizonTestCase):
    """The form Manage Volume, which has a text field for metadata."""

    def setUp(self) -> None:
        super().setUp()
        self.login('admin')

    def test_note_before_it_is_sent(self) -> None:
        page = self.client.get(_MANAGE).content.decode()
        self.assertIn('add rbd:cache_mode=', page)
        # As an element of the page, not as text.
        self.assertIn('data-rbd-note role="status"', page)

    def post(self, fault: fake_cloud.Refused) -> Any:
        self.cloud.faults = {'POST /v3/p/os-volume-manage': fault}
        data = {
            'identifier': 'image',
            'id_type': 'source-name',
            'host': 'h@b#p',
            'metadata': 'rbd:object_size=3M',
        }
        response = self.client.post(_MANAGE, data)
        self.assertEqual(200, response.status_code)
        return response

    def test_refused_key_at_the_metadata(self) -> None:
        text = "rbd:object_size = '3M': not a power of two; allowed: 4K"
        response = self.post(
            fake_cloud.Refused(400, f'RBD volume option refused: {text}')
        )
        errors = response.context['form'].errors
        self.assertEqual({'metadata': [text]}, errors)
        self.assertIn('rbd:object_size=3M', response.content.decode())

    def test_other_refusals_keep_the_input(self) -> None:
        response = self.post(fake_cloud.Refused(400, 'no such host'))
        page = response.content.decode()
        self.assertIn('no such host', page)
        self.assertIn('rbd:object_size=3M', page)

    def test_other_failures_are_as_stock_shows_them(self) -> None:
        self.check_done(self.post(fake_cloud.Refused(500, 'broken')))
