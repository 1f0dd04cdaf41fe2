# SPDX-License-Identifier: Apache-2.0

"""Test changing the cache mode from the row of a volume."""

import dataclasses
from typing import Any

from django.core import cache
from horizon import messages
import requests.exceptions

from rbd_volume_options import registry
from tests import runs
from tests.fakes import fake_option
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_PAGE = '/project/volumes/v/rbd_options/'
_MODE = 'rbd_cache_mode'
_HINT = 'rbd_compression_hint'
#: No option can be set.
_NONE = {option.name: {'settable': False} for option in registry.changeable()}


@runs.tags(runs.RELEASES)
class ChangeOptionsTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.cloud.add_volume('v')

    def post(self, mode: str) -> Any:
        return self.client.post(_PAGE, {_MODE: mode})

    def modes(self) -> list[str]:
        form = self.client.get(_PAGE).context['form']
        return [value for value, _text in form.fields[_MODE].widget.choices]

    def test_set_and_removed(self) -> None:
        self.check_done(self.post('writeback'))
        metadata = self.volume['metadata']
        self.assertEqual({'rbd:cache_mode': 'writeback'}, metadata)
        page = self.client.get(_PAGE).content.decode()
        self.assertIn('<option value="writeback" selected>', page)
        self.check_done(self.post(''))
        self.assertEqual({}, metadata)

    def test_one_request_sets_and_removes(self) -> None:
        metadata = self.volume['metadata']
        metadata |= {
            'rbd:iops_limit': '100',
            'rbd:iops_burst': '300',
            'of_the_user': 'x',
        }
        # What Cinder adds to the metadata of the volume is not sent.
        self.cloud.visible = {'readonly': 'False', 'attached_mode': 'rw'}
        # The new limit is above the burst that the request removes.
        response = self.client.post(_PAGE, {'rbd_iops_limit': '400'})
        self.check_done(response)
        self.assertEqual(
            {'rbd:iops_limit': '400', 'of_the_user': 'x'}, metadata
        )
        changes = [
            each
            for each in self.cloud.asked
            if each.endswith('metadata') and not each.startswith('GET')
        ]
        self.assertEqual(['PUT /v3/p/volumes/v/metadata'], changes)

    def test_a_refused_removal_changes_nothing(self) -> None:
        metadata = self.volume['metadata']
        before = {'rbd:iops_limit': '100', 'rbd:iops_burst': '300'}
        metadata |= before
        response = self.client.post(
            _PAGE, {_MODE: 'writeback', 'rbd_iops_burst': '300'}
        )
        self.assertEqual(
            ['rbd_iops_burst'], list(response.context['form'].errors)
        )
        self.assertEqual(before, metadata)

    def test_a_removal_does_not_undo_a_change_at_the_same_time(self) -> None:
        metadata = self.volume['metadata']
        metadata['rbd:cache_mode'] = 'writeback'
        self.cloud.meanwhile = {
            'GET /v3/p/volumes/v/metadata': lambda: metadata.update(new='x')
        }
        response = self.post('')
        self.assertIn('412', str(response.context['form'].errors))
        self.assertEqual({'rbd:cache_mode': 'writeback', 'new': 'x'}, metadata)

    def test_a_notice_replaces_the_message_of_success(self) -> None:
        shown = []
        for level in ('warning', 'success'):
            self.patch(
                messages,
                level,
                lambda request, text, level=level: shown.append((level, text)),
            )
        self.cloud.notice = 'stored, but not in force yet'
        self.check_done(self.post('writeback'))
        self.assertEqual([('warning', self.cloud.notice)], shown)
        self.cloud.notice = None
        self.check_done(self.post(''))
        self.assertEqual(['warning', 'success'], [each for each, _ in shown])

    def test_a_refusal_is_at_the_field(self) -> None:
        response = self.post('fast')
        self.assertEqual([_MODE], list(response.context['form'].errors))
        self.assertIn('not a cache mode', str(response.context['form'].errors))
        # The script of forms moves to the field.
        self.assertIn('data-rbd-form', response.content.decode())
        self.assertEqual({}, self.volume['metadata'])

    def test_what_the_type_no_longer_offers_is_kept(self) -> None:
        self.volume['metadata']['rbd:cache_mode'] = 'directsync'
        self.cloud.types = [
            fake_cloud.offered('rbd', cache_mode={'settable': False})
        ]
        self.assertEqual(['', 'directsync'], self.modes())
        self.check_done(self.post('directsync'))
        self.check_done(self.post(''))
        self.assertEqual({}, self.volume['metadata'])

    def check_note(self, text: str) -> None:
        """Check the note, and that no mode can be selected."""
        response = self.client.get(_PAGE)
        self.assertEqual([], list(response.context['form'].fields))
        page = response.content.decode()
        self.assertIn(text, page)
        self.assertNotIn('type="submit"', page)
        response = self.post('writeback')
        self.assertEqual([_MODE], list(response.context['form'].errors))
        page = response.content.decode()
        self.assertIn('<option value="writeback" selected>', page)
        self.assertEqual({}, self.volume['metadata'])

    def test_reason_is_shown_if_nothing_can_be_changed(self) -> None:
        others = {k: v for k, v in _NONE.items() if k != 'cache_mode'}
        for offered, changes, text in (
            (_NONE, {}, 'not allowed for volumes of this type'),
            (
                _NONE,
                {'volume_type': 'lvm'},
                'no back end of the volume type supports RBD',
            ),
            (
                _NONE,
                {'volume_type': 'private'},
                'this volume has no RBD volume options',
            ),
            (others, {'multiattach': True}, 'whose caches are not coherent'),
        ):
            cache.cache.clear()
            self.cloud.types = [
                fake_cloud.offered('rbd', **offered),
                fake_cloud.not_offered('lvm'),
            ]
            self.volume.update({'volume_type': 'rbd', **changes})
            self.check_note(text)

    def test_unknown_is_not_shown_as_everything(self) -> None:
        self.volume['metadata']['rbd:cache_mode'] = 'writeback'
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        response = self.client.get(_PAGE)
        form = response.context['form']
        self.assertEqual([_MODE], list(form.fields))
        page = response.content.decode()
        self.assertIn('<option value="writeback" selected>writeback<', page)
        self.assertNotIn('not allowed', page)

    def test_each_option_that_can_be_changed_has_a_field(self) -> None:
        pace = dataclasses.replace(
            fake_option.OPTION, fixed=False, takes_effect='in a moment'
        )
        self.useFixture(fake_option.FakeOption(pace))
        self.cloud.types = [
            fake_cloud.offered(
                'rbd', pace_hint={'type': 'word', 'allowed': ['fast']}
            )
        ]
        form = self.client.get(_PAGE).context['form']
        fields = [f'rbd_{option.name}' for option in registry.changeable()]
        self.assertEqual(fields, list(form.fields))
        self.assertEqual(
            set(), {_MODE, _HINT, 'rbd_pace_hint'}.difference(fields)
        )
        self.assertIn(
            ('Pace', 'A change takes effect in a moment.'), form.description
        )
        metadata = self.volume['metadata']
        metadata['rbd:cache_mode'] = 'none'
        self.check_done(self.client.post(_PAGE, {'rbd_pace_hint': 'fast'}))
        # The mode was sent as the default, so it was removed.
        self.assertEqual({'rbd:pace_hint': 'fast'}, metadata)
        response = self.client.post(
            _PAGE, {_MODE: 'writeback', 'rbd_pace_hint': 'slow'}
        )
        self.assertEqual(
            ['rbd_pace_hint'], list(response.context['form'].errors)
        )
        self.assertEqual({'rbd:pace_hint': 'fast'}, metadata)

    def test_volume_for_several_instances_has_the_other_options(self) -> None:
        self.volume['multiattach'] = True
        page = self.client.get('/project/volumes/').content.decode()
        self.assertIn(_PAGE, page)
        form = self.client.get(_PAGE).context['form']
        self.assertIn(_HINT, form.fields)
        self.assertNotIn(_MODE, form.fields)

    def test_last_attachment_was_refused(self) -> None:
        self.volume[f'{fake_cloud.ALIAS}:attach_refused'] = {
            'reason': 'the host allows <none>',
            'at': '2026-01-02T03:04:05Z',
        }
        page = self.client.get(_PAGE).content.decode()
        self.assertIn(
            'The last attachment of the volume was refused: the host allows '
            '&lt;none&gt;',
            page,
        )

    def test_a_cinder_that_does_not_answer(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        page = self.client.get(_PAGE).content.decode()
        self.assertIn('The allowed values are not available', page)
        # Cinder refuses it, and it stays selected.
        page = self.post('fast').content.decode()
        self.assertIn('<option value="fast" selected>', page)
        self.assertIn('not a cache mode', page)
        self.check_done(self.post('writeback'))

    def test_the_row_of_a_volume(self) -> None:
        bare = {f'{fake_cloud.ALIAS}:object_size': None}
        self.cloud.add_volume('other', volume_type='lvm', **bare)
        self.cloud.add_volume('unrecorded', **bare)
        self.cloud.add_volume('shared', multiattach=True)
        page = self.client.get('/project/volumes/').content.decode()
        for ident in ('v', 'unrecorded', 'shared'):
            self.assertIn(f'/project/volumes/{ident}/rbd_options/', page)
        self.assertNotIn('/project/volumes/other/rbd_options/', page)
        cache.cache.clear()
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        self.volume['metadata']['rbd:cache_mode'] = 'none'
        page = self.client.get('/project/volumes/').content.decode()
        self.assertIn(_PAGE, page)
        self.assertNotIn('/project/volumes/unrecorded/rbd_options/', page)

    def menu(self, address: str) -> str:
        """Return the menu of a details page."""
        response = self.client.get(address, HTTP_X_REQUESTED_WITH='')
        return str(response.context['actions'])

    def test_menu_of_the_details(self) -> None:
        self.assertIn(_PAGE, self.menu('/project/volumes/v/'))

    def test_administrators_have_their_own_page(self) -> None:
        self.login('admin')
        page = _PAGE.replace('project', 'admin')
        for shown in (
            self.menu('/admin/volumes/v/'),
            self.client.get(page).content.decode(),
        ):
            self.assertIn(page, shown)
            self.assertNotIn(_PAGE, shown)
        response = self.client.post(page, {_MODE: 'writeback'})
        self.check_done(response)
        self.assertEqual(
            '/admin/volumes/', response.headers['X-Horizon-Location']
        )
        self.assertEqual(
            {'rbd:cache_mode': 'writeback'}, self.volume['metadata']
        )
