# SPDX-License-Identifier: Apache-2.0

"""The Create Volume form, with real Horizon views and clients."""

import re
import types
from typing import Any

import ddt
from django import test
from django.core import cache as caches
from openstack_auth import utils as auth_utils
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.project.images.images import tables
from openstack_dashboard.dashboards.project.volumes import forms as stock
from openstack_dashboard.dashboards.project.volumes import views
import requests.exceptions

from horizon_volume_opts import discovery
from horizon_volume_opts import replacements
from horizon_volume_opts.volumes import create
from horizon_volume_opts.volumes import fields
from tests.fakes import fake_option
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case
from tests.unit.horizon_volume_opts import test_rest

URL = '/project/volumes/create/'
ASK = 'GET /v3/p/os-rbd-volume-options'
POST = 'POST /v3/p/volumes'
_ODD = ('SSD Fast', 'fast"x', "fast'x", 'Ümlaut <b>', 'x' * 255, '__proto__')


class FormTestCase(horizon_case.HorizonTestCase):
    def shown(self, query: str = '') -> str:
        response = self.client.get(f'{URL}{query}')
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def data(self, page: str) -> Any:
        packed = horizon_case.data_of(page, 'data-rbd-offers')
        return packed and horizon_case.unpacked(packed)

    def post(self, query: str = '', **data: Any) -> Any:
        return self.client.post(
            f'{URL}{query}',
            {'name': 'n', 'type': 'rbd', 'size': '1', **data},
        )

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
    def test_horizon_s_view_uses_it(self) -> None:
        self.assertIs(create.CreateForm, views.CreateView.form_class)

    def test_stock_s_form_where_metadata_would_be_lost(self) -> None:
        self.patch(views.CreateView, 'form_class', stock.CreateForm)
        self.patch(cinder, 'volume_create', None)
        # As in a release with another name for it.
        del cinder.volume_create
        replacements.run(['horizon_volume_opts.volumes.create.use_form'])
        self.assertIs(stock.CreateForm, views.CreateView.form_class)
        self.assertIn('use_form failed', self.log.output)

    def test_data_for_types_that_offer_something(self) -> None:
        by_type = self.data(self.shown())
        self.assertEqual({'rbd', 'lvm'}, set(by_type))
        self.assertIn('no back end', by_type['lvm']['reason'])
        self.assertNotIn('rbd:data_pool', by_type['rbd']['options'])

    @ddt.data(*_ODD)
    def test_whatever_a_type_is_called(self, name: str) -> None:
        self.cloud.types.append(fake_cloud.offered(name))
        self.assertIn(name, self.data(self.shown()))

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
        page = self.shown()
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

    def test_for_each_source(self) -> None:
        self.cloud.add_volume('v')
        self.cloud.snapshots['s'] = {
            'id': 's',
            'name': 's',
            'volume_id': 'v',
            'size': 1,
            'status': 'available',
        }
        for query in ('', '?snapshot_id=s'):
            self.assertIsNotNone(self.data(self.shown(query)), query)

    def test_without_inline_script(self) -> None:
        match = re.search(
            r'<fieldset class="rbd-volume-options.*</fieldset>',
            self.shown(),
            re.DOTALL,
        )
        drawn = match[0] if match else ''
        self.assertNotEqual('', drawn)
        for word in ('<script', '<style', ' style=', 'onchange='):
            self.assertNotIn(word, drawn)


class RouteTestCase(test_rest.RestTestCase):
    def test_dialogue_of_images_gets_the_same_fields(self) -> None:
        status, text = self.ask('/api/rbd_volume_options/form/?named=rbd')
        self.assertEqual(200, status)
        for key in fields.kinds():
            self.assertIn(f'name="{fields.name_of(key)}"', text)
        data = horizon_case.data_of(text, 'data-rbd-offers')
        self.assertEqual({'rbd', 'lvm'}, set(data['types']))

    def test_dialogue_of_images_learns_that_cinder_does_not_tell(self) -> None:
        self.cloud.faults = {ASK: requests.exceptions.Timeout('slow')}
        status, _text = self.ask('/api/rbd_volume_options/form/')
        self.assertEqual(503, status)


class ImagesPanelTestCase(FormTestCase):
    def test_both_panels_of_images_have_the_same_fields(self) -> None:
        """The Python panel leads to this form, the Angular one to the route.

        Both have the same markup, and therefore the same script.
        """
        link = tables.CreateVolumeFromImage()
        link.table = types.SimpleNamespace(get_object_id=lambda image: image)
        path, _mark, query = link.get_link_url('i').partition('?')
        self.assertEqual(URL, path)
        page = self.shown(f'?{query}')
        request = test.RequestFactory().get('/')
        request.user = auth_utils.get_user(request)
        group = create.options_group(
            fields.of_keys(fields.kinds()), discovery.by_type(request)
        )
        self.assertIn(f'data-rbd-offers={group.context["data"]}', page)
        for name in group.members:
            self.assertIn(f'name="{name}"', page)


class OpenTestCase(FormTestCase):
    def test_group_is_open_only_with_a_choice_or_an_error(self) -> None:
        self.assertIn('<details><summary', self.shown())
        response = self.post(size='', rbd_object_map='true')
        self.assertIn('<details open><summary', response.content.decode())

    def test_limits_have_the_text_without_one_and_the_general_maximum(
        self,
    ) -> None:
        """The script shows a smaller maximum of the volume type."""
        shown = self.shown()
        self.assertIn('data-rbd-unset="Default: no limit, unless', shown)
        # Horizon removes spaces between tags, but not this one.
        self.assertIn(
            'data-rbd-maximum="1000000000"></span>&#32;<span data-rbd-default',
            shown,
        )

    def test_further_options_appear_in_their_group_by_data(self) -> None:
        """The definition of an option is enough."""
        self.assertNotIn('id_rbd_pace_hint', self.shown())
        self.useFixture(fake_option.FakeOption())
        self.cloud.types[0]['options'][fake_option.KEY] = {
            'type': 'word',
            'settable': True,
            'default': None,
            'default_from': None,
            'allowed': ['slow', 'fast'],
        }
        caches.cache.clear()
        before, _, after = self.shown().partition('More options')
        self.assertNotIn('id_rbd_pace_hint', before)
        for words in ('id_rbd_pace_hint', 'Pace', 'Fast costs more.'):
            self.assertIn(words, after)
        response = self.post(rbd_pace_hint='huge')
        self.assertIn('not a pace', response.content.decode())
        self.check_done(self.post(rbd_pace_hint='fast'))
        self.assertEqual({fake_option.KEY: 'fast'}, self.made()['metadata'])


@ddt.ddt
class SentTestCase(FormTestCase):
    def test_nothing_chosen(self) -> None:
        response = self.post()
        self.check_done(response)
        self.assertEqual({}, self.made()['metadata'])

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

    def test_chosen_features_are_sent(self) -> None:
        response = self.post(
            rbd_choose_features='on',
            rbd_features=['exclusive-lock', 'object-map'],
        )
        self.check_done(response)
        self.assertEqual(
            {'rbd:features': 'exclusive-lock,layering,object-map'},
            self.made()['metadata'],
        )

    @ddt.data(
        ({'rbd_object_size': '3M'}, 'rbd_object_size', 'power of two'),
        ({'rbd_object_size': '64M'}, 'rbd_object_size', 'out of range'),
        ({'rbd_stripe_unit': '64K'}, 'rbd_stripe_unit', 'without'),
        ({'rbd_stripe_count': '2'}, 'rbd_stripe_count', 'without'),
        (
            {'rbd_stripe_unit': '8M', 'rbd_stripe_count': '2'},
            'rbd_stripe_unit',
            'not a factor',
        ),
        (
            {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '3'},
            'rbd_stripe_count',
            'not a multiple',
        ),
        (
            {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '99'},
            'rbd_stripe_count',
            'more than',
        ),
        ({'rbd_object_map': 'maybe'}, 'rbd_object_map', 'boolean'),
        (
            {'rbd_choose_features': 'on', 'rbd_features': ['object-map']},
            'rbd_features',
            'requires exclusive-lock',
        ),
        (
            {'rbd_choose_features': 'on', 'rbd_features': ['magic']},
            'rbd_features',
            'not an image feature',
        ),
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

    def test_refused_by_cinder_for_a_key_without_a_field(self) -> None:
        self.cloud.faults = {
            POST: fake_cloud.Refused(
                400, "RBD volume option refused: rbd:cache_mode = 'x': no"
            )
        }
        response = self.post(rbd_object_size='1M')
        self.check_refused(response, '__all__', "rbd:cache_mode = 'x': no")

    def test_refused_where_nothing_is_chosen_is_as_stock_shows_it(
        self,
    ) -> None:
        """A value of the volume type cannot be corrected in the form."""
        text = "rbd:object_size = '1M' (volume type): because; allowed: no"
        self.cloud.faults = {
            POST: fake_cloud.Refused(400, f'RBD volume option refused: {text}')
        }
        self.check_done(self.post())

    def test_a_cinder_that_knows_in_a_minute(self) -> None:
        self.cloud.faults = {POST: fake_cloud.Refused(503, 'Try again')}
        response = self.post(rbd_object_size='1M')
        self.check_refused(response, '__all__', 'Try again')

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

    def test_without_any_type(self) -> None:
        self.cloud.default_type = None
        response = self.post(type='', rbd_object_size='1M')
        self.check_refused(
            response, 'rbd_object_size', 'has no RBD volume options'
        )

    def test_stock_errors_are_there_too(self) -> None:
        response = self.post(size='none', rbd_object_size='3M')
        self.assertEqual(
            {'size', 'rbd_object_size'}, set(response.context['form'].errors)
        )

    def test_types_by_name(self) -> None:
        for number, name in enumerate(_ODD, 1):
            self.cloud.types.append(fake_cloud.offered(name))
            response = self.post(type=name, rbd_object_size='1M')
            self.check_done(response)
            self.assertEqual(number, len(self.cloud.volumes))


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
