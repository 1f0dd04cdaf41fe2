# SPDX-License-Identifier: Apache-2.0

"""The Create Volume form, with real Horizon views and clients."""

import re
import types
from typing import Any

import ddt
from django import test
from django.core import cache as caches
from openstack_dashboard.dashboards.project.images.images import tables
import requests.exceptions

from horizon_volume_opts.volumes import fields
from tests import runs
from tests.fakes import fake_option
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

URL = '/project/volumes/create/'
ASK = 'GET /v3/p/os-rbd-volume-options'
POST = 'POST /v3/p/volumes'
_ODD = ('SSD Fast', 'fast"x', "fast'x", 'Ümlaut <b>', 'x' * 255, '__proto__')


@runs.tags(runs.RELEASES)
class FormTestCase(horizon_case.HorizonTestCase):
    def shown(self, query: str = '') -> str:
        response = self.client.get(f'{URL}{query}')
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def post(self, query: str = '', **data: Any) -> Any:
        return self.client.post(
            f'{URL}{query}',
            {'name': 'n', 'type': 'rbd', 'size': '1', **data},
        )

    def group(self, **values: str) -> Any:
        """Return the response to the script of the form."""
        status, answer = self.ask('new-volume', **{'type': 'rbd', **values})
        self.assertEqual(200, status, answer)
        return answer

    def made(self) -> dict[str, Any]:
        (volume,) = (
            each
            for ident, each in self.cloud.volumes.items()
            if ident.startswith('new-')
        )
        return volume

    def check_refused(self, response: Any, field: str, words: str) -> None:
        """Check that the form is shown again with an error at one field."""
        self.assertEqual(200, response.status_code)
        form = response.context['form']
        self.assertEqual({field}, set(form.errors))
        self.assertIn(words, form.errors[field][0])
        self.assertNotIn(POST, [self.cloud.asked[-1]])


@ddt.ddt
class ShownTestCase(FormTestCase):
    def test_closed_line_says_what_the_volume_gets(self) -> None:
        page = self.shown()
        self.assertIn(
            'Layout and features: 4\xa0MiB objects, object map (default)', page
        )
        self.assertNotIn('<details class="rbd-volume-options" open', page)
        self.assertNotIn('name="rbd_object_size"', page)

    def test_stock_form_without_the_extension(self) -> None:
        self.cloud.types = []
        page = self.shown()
        self.assertNotIn('rbd-volume-options', page)
        self.assertNotIn('rbd_', page)

    def test_only_what_the_user_may_set(self) -> None:
        words = ('object_size', 'object_map', 'features')
        self.cloud.types = [
            fake_cloud.offered(
                'rbd', **{w: {'settable': False} for w in words}
            )
        ]
        page = self.group(rbd_choice='custom')['html']
        self.assertIn('id_rbd_stripe_unit', page)
        for word in words:
            self.assertNotIn(f'id_rbd_{word}', page)

    def test_stock_form_with_a_notice_where_cinder_does_not_tell(self) -> None:
        self.cloud.faults = {ASK: requests.exceptions.Timeout('slow')}
        page = self.shown()
        self.assertNotIn('rbd-volume-options', page)
        self.assertIn('RBD volume options are currently not available', page)
        self.assertIn('id_size', page)
        response = self.post()
        self.check_done(response)
        self.assertEqual({}, self.made()['metadata'])

    def test_without_scripts_all_fields_are_shown_and_checked(self) -> None:
        self.client = test.Client(raise_request_exception=True)
        page = self.shown()
        parts = re.findall('<noscript>(.*?)</noscript>', page, re.DOTALL)
        part = next(each for each in parts if 'rbd_' in each)
        for key in fields.creation_keys():
            self.assertIn(f'name="{fields.name_of(key)}"', part)
        response = self.post(rbd_object_size='3M', name='kept')
        self.assertIn('power of two', response.content.decode())
        self.assertEqual({}, self.cloud.volumes)

    def test_dialog_needs_no_fields_for_browsers_without_scripts(self) -> None:
        self.assertNotIn('<noscript>', self.shown())


class ImagesPanelTestCase(FormTestCase):
    def test_python_panel_of_images_leads_to_the_form(self) -> None:
        link = tables.CreateVolumeFromImage()
        link.table = types.SimpleNamespace(get_object_id=lambda image: image)
        path, _mark, query = link.get_link_url('i').partition('?')
        self.assertEqual(URL, path)
        self.assertIn('(default)', self.shown(f'?{query}'))


class OpenTestCase(FormTestCase):
    def test_group_is_open_only_with_a_choice_or_an_error(self) -> None:
        self.assertNotIn('-options" open', self.shown())
        response = self.post(size='', rbd_object_map='true')
        self.assertIn('-options" open', response.content.decode())

    def test_further_options_appear_in_their_group_by_data(self) -> None:
        """The definition of an option is enough."""
        self.useFixture(fake_option.FakeOption())
        self.cloud.types[0]['options'][fake_option.KEY] = {
            'type': 'word',
            'settable': True,
            'default': None,
            'default_from': None,
            'allowed': ['slow', 'fast'],
        }
        caches.cache.clear()
        page = self.group(rbd_choice='custom')['html']
        before, _, after = page.partition('More options')
        self.assertNotIn('id_rbd_pace_hint', before)
        for words in ('id_rbd_pace_hint', 'Pace'):
            self.assertIn(words, after)
        response = self.post(rbd_pace_hint='huge')
        self.assertIn('not a pace', response.content.decode())
        self.check_done(self.post(rbd_pace_hint='fast'))
        self.assertEqual({fake_option.KEY: 'fast'}, self.made()['metadata'])


@ddt.ddt
class SentTestCase(FormTestCase):
    def test_what_is_chosen(self) -> None:
        response = self.post(
            rbd_object_size='1M',
            rbd_stripe_unit='64K',
            rbd_stripe_count='8',
            rbd_object_map='true',
        )
        self.check_done(response)
        self.assertEqual(
            {
                'rbd:object_size': '1M',
                'rbd:stripe_unit': '64K',
                'rbd:stripe_count': '8',
                'rbd:object_map': 'true',
            },
            self.made()['metadata'],
        )

    @ddt.data(
        ({'rbd_object_size': '3M'}, 'rbd_object_size', 'power of two'),
        (
            {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '99'},
            'rbd_stripe_count',
            'more than',
        ),
        ({'rbd_object_map': 'maybe'}, 'rbd_object_map', 'boolean'),
    )
    @ddt.unpack
    def test_refused_at_its_field(
        self, data: dict[str, Any], field: str, words: str
    ) -> None:
        response = self.post(description='kept', **data)
        self.check_refused(response, field, words)
        page = response.content.decode()
        self.assertIn('kept', page)
        self.assertIn(f'id="id_{field}_error" role="alert"', page)
        self.assertEqual({}, self.cloud.volumes)

    def test_refused_by_cinder_at_its_field(self) -> None:
        text = "rbd:object_size = '1M' (volume metadata): because; allowed: no"
        self.cloud.faults = {
            POST: fake_cloud.Refused(400, f'RBD volume option refused: {text}')
        }
        response = self.post(description='kept', rbd_object_size='1M')
        self.check_refused(response, 'rbd_object_size', 'because; allowed: no')
        page = response.content.decode()
        self.assertIn('kept', page)
        self.assertIn('<option value="1M" selected>', page)

    def test_refused_value_of_the_type_keeps_the_input(self) -> None:
        """There is no field for it if nothing is selected."""
        text = "rbd:object_size = '1M' (volume type): because; allowed: no"
        self.cloud.faults = {
            POST: fake_cloud.Refused(400, f'RBD volume option refused: {text}')
        }
        self.check_refused(self.post(), '__all__', text)

    def test_what_others_refuse_is_as_stock_shows_it(self) -> None:
        self.cloud.faults = {POST: fake_cloud.Refused(400, 'not today')}
        response = self.post(rbd_object_size='1M')
        self.check_done(response)

    def test_of_a_type_that_offers_none(self) -> None:
        response = self.post(type='lvm', rbd_object_size='1M')
        self.check_refused(response, 'rbd_object_size', 'no back end')

    def test_without_a_type_the_default_one_counts(self) -> None:
        response = self.post(type='', rbd_object_size='3M')
        self.check_refused(response, 'rbd_object_size', 'power of two')

    def test_stock_errors_are_there_too(self) -> None:
        response = self.post(size='none', rbd_object_size='3M')
        self.assertEqual(
            {'size', 'rbd_object_size'}, set(response.context['form'].errors)
        )


class SourceTestCase(FormTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cloud.add_volume('v')
        self.cloud.snapshots['s'] = {
            'id': 's',
            'name': 's',
            'volume_id': 'v',
            'size': 1,
            'status': 'available',
        }

    def test_type_and_layout_are_the_source_s(self) -> None:
        # The source has 8 MiB objects, so a unit of 8 MiB is valid.
        striping = {'rbd_stripe_unit': '8M', 'rbd_stripe_count': '2'}
        for query, source in (
            ('', {'volume_source': 'v'}),
            ('?snapshot_id=s', {'snapshot_source': 's'}),
        ):
            response = self.post(query, type='', **source, **striping)
            self.check_done(response)
            made = self.cloud.volumes.popitem()[1]
            self.assertEqual('8M', made['metadata']['rbd:stripe_unit'])

    def test_page_of_a_snapshot_shows_its_layout(self) -> None:
        self.assertIn(
            '8\xa0MiB objects, 64\xa0KiB\xa0×\xa08, object map (same as',
            self.shown('?snapshot_id=s'),
        )

    def test_chosen_in_the_form(self) -> None:
        self.cloud.volumes['v']['volume_type'] = 'lvm'
        response = self.post(
            volume_source_type='volume_source',
            volume_source='v',
            rbd_object_size='1M',
        )
        self.check_refused(response, 'rbd_object_size', 'no back end')

    def test_chosen_and_left_again(self) -> None:
        self.cloud.volumes['v']['volume_type'] = 'lvm'
        response = self.post(
            volume_source_type='no_source_type',
            volume_source='v',
            rbd_object_size='1M',
        )
        self.check_done(response)

    def test_one_that_can_not_be_looked_up(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/volumes/v': requests.exceptions.Timeout('slow')
        }
        response = self.post(
            volume_source_type='volume_source',
            volume_source='v',
            rbd_object_size='1M',
        )
        self.check_refused(
            response,
            'rbd_object_size',
            'the source of the volume is not available',
        )
