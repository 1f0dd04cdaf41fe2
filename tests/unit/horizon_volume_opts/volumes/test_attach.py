# SPDX-License-Identifier: Apache-2.0

"""The Manage Attachments form, with real Horizon views and clients."""

from typing import Any

from django.core import cache
import requests.exceptions

from horizon_volume_opts.volumes import attach
from tests import runs
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

URL = '/project/volumes/v/attach/'
KEY = 'rbd:cache_mode'
ATTACH = 'POST /v2.1/servers/s/os-volume_attachments'


@runs.tags(runs.RELEASES)
class AttachTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.cloud.add_volume('v')
        self.cloud.servers['s'] = {
            'id': 's',
            'name': 'server',
            'status': 'ACTIVE',
            'image': {'id': 'i'},
        }

    def page(self) -> str:
        response = self.client.get(URL)
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def post(self, mode: str | None = None) -> Any:
        data = {'volume_id': 'v', 'instance': 's', 'device': ''}
        if mode is not None:
            data['rbd_cache_mode'] = mode
        return self.client.post(URL, data)

    def modes(self) -> dict[str, str]:
        form = self.client.get(URL).context['form']
        return dict(form.fields[attach.FIELD].widget.choices)

    def attached(self) -> bool:
        return bool(self.volume['status'] == 'in-use')


class ShownTestCase(AttachTestCase):
    def test_modes_of_the_type_with_a_line_each(self) -> None:
        modes = self.modes()
        self.assertEqual(
            ['', 'none', 'writethrough', 'writeback'], list(modes)
        )
        self.assertEqual(
            'writeback: caches reads and writes', modes['writeback']
        )
        page = self.page()
        # It is not offered.
        self.assertNotIn('unsafe', page)
        self.assertIn('for="id_rbd_cache_mode"', page)
        self.assertIn('aria-describedby="id_rbd_cache_mode_hint"', page)

    def test_the_default_and_who_set_it(self) -> None:
        self.assertEqual('Default: set by the compute host', self.modes()[''])
        self.cloud.types[0] = fake_cloud.offered(
            'other',
            cache_mode={'default': 'none', 'default_from': 'volume type'},
        )
        self.volume['volume_type'] = 'other'
        self.assertEqual(
            'Default: none (set by the volume type)', self.modes()['']
        )

    def test_the_volume_s_own_mode_is_chosen(self) -> None:
        self.volume['metadata'][KEY] = 'writeback'
        self.assertIn('value="writeback" selected', self.page())

    def test_one_that_is_no_longer_allowed_is_shown(self) -> None:
        self.volume['metadata'][KEY] = 'directsync'
        self.assertIn('not allowed', self.modes()['directsync'])

    def test_nothing_where_no_mode_can_be_selected(self) -> None:
        """Stock's form, and an attachment keeps what the volume has."""
        self.volume['metadata'][KEY] = 'writeback'
        forbidden = fake_cloud.offered('rbd', cache_mode={'settable': False})
        for types, changes in (
            (self.cloud.types, {'multiattach': True}),
            (self.cloud.types, {'volume_type': 'lvm'}),
            (self.cloud.types, {'volume_type': None}),
            ([forbidden], {}),
            # Cinder does not have the extension.
            ([], {}),
        ):
            cache.cache.clear()
            self.cloud.types = types
            self.volume.update(
                {'multiattach': False, 'volume_type': 'rbd', **changes}
            )
            page = self.page()
            self.assertNotIn('rbd_', page)
            self.assertNotIn('data-rbd', page)
            self.volume['status'] = 'available'
            self.check_done(self.post())
            self.assertTrue(self.attached())
            self.assertEqual({KEY: 'writeback'}, self.volume['metadata'])

    def test_stock_form_with_a_notice_where_cinder_does_not_tell(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        page = self.page()
        self.assertIn('gets the current cache mode of the volume', page)
        self.assertNotIn('gets the defaults of its type', page)
        self.assertNotIn('rbd_', page)
        self.check_done(self.post())
        self.assertTrue(self.attached())

    def test_why_the_last_attachment_was_refused(self) -> None:
        self.volume[f'{fake_cloud.ALIAS}:attach_refused'] = {
            'reason': 'the host allows <none>'
        }
        refused = 'was refused: the host allows &lt;none&gt;'
        self.assertIn(refused, self.page())
        cache.cache.clear()
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        page = self.page()
        self.assertIn(refused, page)


class SentTestCase(AttachTestCase):
    def asked(self, what: str) -> list[str]:
        return [each for each in self.cloud.asked if each.startswith(what)]

    def test_set_before_the_volume_is_attached(self) -> None:
        self.check_done(self.post('writeback'))
        self.assertEqual('writeback', self.volume['metadata'][KEY])
        self.assertTrue(self.attached())
        (change,) = self.asked('POST /v3/p/volumes/v/metadata')
        (done,) = self.asked(ATTACH)
        self.assertLess(
            self.cloud.asked.index(change), self.cloud.asked.index(done)
        )

    def test_not_set_where_it_does_not_change(self) -> None:
        self.volume['metadata'][KEY] = 'writeback'
        self.post('writeback')
        self.assertEqual([], self.asked('POST /v3/p/volumes/v/metadata'))
        self.assertTrue(self.attached())

    def test_back_to_the_default(self) -> None:
        self.volume['metadata'].update({KEY: 'writeback', 'mine': 'kept'})
        self.check_done(self.post(''))
        self.assertEqual({'mine': 'kept'}, self.volume['metadata'])
        self.assertTrue(self.attached())

    def check_refused(self, response: Any, words: str) -> None:
        self.assertEqual(200, response.status_code)
        errors = response.context['form'].errors
        self.assertEqual({'rbd_cache_mode'}, set(errors))
        self.assertIn(words, errors['rbd_cache_mode'][0])
        page = response.content.decode()
        self.assertIn('id="id_rbd_cache_mode_error"', page)
        # The form keeps the selection.
        self.assertIn('<option value="s" selected', page)
        self.assertFalse(self.attached())
        self.assertEqual({}, self.volume['metadata'])

    def test_refused_at_the_field(self) -> None:
        self.check_refused(self.post('magic'), 'not a cache mode')
        self.check_refused(self.post('directsync'), 'not allowed')

    def test_refused_where_cinder_no_longer_tells(self) -> None:
        self.page()
        cache.cache.clear()
        self.cloud.faults = {
            'GET /v3/p/os-rbd': fake_cloud.Refused(500, 'broken')
        }
        # Also for the cached failure.
        for _ in range(2):
            self.check_refused(
                self.post('writeback'), 'this value cannot be checked'
            )
        self.cloud.faults = {}
        cache.cache.clear()
        self.check_done(self.post('writeback'))

    def test_the_default_needs_no_answer_of_cinder_s(self) -> None:
        self.volume['metadata'][KEY] = 'writeback'
        self.cloud.faults = {
            'GET /v3/p/os-rbd': fake_cloud.Refused(500, 'broken')
        }
        self.check_done(self.post(''))
        self.assertEqual({}, self.volume['metadata'])

    def test_refused_where_it_is_no_longer_offered(self) -> None:
        self.cloud.types[0] = fake_cloud.offered(
            'rbd', cache_mode={'settable': False}
        )
        self.check_refused(self.post('writeback'), 'tenants may not set')
        self.cloud.types = []
        cache.cache.clear()
        self.check_refused(self.post('writeback'), 'no RBD volume options')

    def test_refused_by_cinder_at_the_field(self) -> None:
        text = "rbd:cache_mode = 'writeback': because; allowed: none"
        for answer, words in (
            (f'RBD volume option refused: {text}', 'because; allowed: none'),
            ('not today', 'not today'),
        ):
            self.cloud.faults = {
                'POST /v3/p/volumes/v/metadata': fake_cloud.Refused(
                    400, answer
                )
            }
            self.check_refused(self.post('writeback'), words)

    def test_put_back_where_the_volume_is_not_attached(self) -> None:
        self.cloud.faults = {ATTACH: fake_cloud.Refused(409, 'no')}
        for before in ({KEY: 'none'}, {}):
            self.volume['metadata'] = dict(before)
            self.check_done(self.post('writeback'))
            self.assertEqual(before, self.volume['metadata'])

    def test_stays_where_only_what_came_after_failed(self) -> None:
        def attach_and_go(cloud: Any, body: Any, ident: str) -> Any:
            self.volume['status'] = 'reserved'
            raise fake_cloud.Refused(500, 'too late')

        self.patch(
            fake_cloud,
            '_ROUTES',
            [
                (
                    pattern,
                    attach_and_go if 'os-volume_att' in pattern else each,
                )
                for pattern, each in fake_cloud._ROUTES
            ],
        )
        self.post('writeback')
        self.assertEqual({KEY: 'writeback'}, self.volume['metadata'])

    def test_what_can_not_be_put_back_is_logged(self) -> None:
        self.cloud.faults = {
            ATTACH: fake_cloud.Refused(409, 'no'),
            'DELETE /v3/p/volumes/v/metadata': fake_cloud.Refused(500, 'oops'),
        }
        self.check_done(self.post('writeback'))
        self.assertIn(
            'Could not restore the former cache mode', self.log.output
        )
