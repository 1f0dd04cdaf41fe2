# SPDX-License-Identifier: Apache-2.0

"""Extra specs on stock Horizon's pages, with our forms."""

import html
import re
from typing import Any
from unittest import mock

from cinderclient import exceptions as cinder_exceptions
import ddt
from django.core import cache
from django.urls import reverse
from openstack_dashboard import api
from openstack_dashboard.test import helpers
import requests.exceptions

from tests.unit.horizon_volume_opts import fake_cloud

_TYPE = 'a-type'
_NAME = re.compile(r' name="(\w+)"')


class FakeType:
    """A volume type that keeps its extra specs."""

    def __init__(self) -> None:
        self.name = 'gold'
        self.id = _TYPE
        self.specs: dict[str, str] = {}
        self.requests: list[dict[str, str]] = []
        self.refuses: Exception | None = None
        self.unreadable: Exception | None = None

    def get_keys(self) -> dict[str, str]:
        """Return the extra specs."""
        if self.unreadable:
            raise self.unreadable
        return dict(self.specs)

    def set_keys(self, specs: dict[str, str]) -> None:
        """Set extra specs in one request."""
        if self.refuses:
            raise self.refuses
        self.requests.append(specs)
        self.specs.update(specs)


class PagesTestCase(helpers.BaseAdminViewTests):
    def setUp(self) -> None:
        super().setUp()
        self.type = FakeType()
        cache.cache.clear()
        client = mock.Mock(spec_set=['volume_types', 'client'])
        client.volume_types.get.return_value = self.type
        self.discover = client.client.get
        self.discover.side_effect = cinder_exceptions.NotFound(404)
        patch = mock.patch.object(
            api.cinder, 'cinderclient', autospec=True, return_value=client
        )
        patch.start()
        self.addCleanup(patch.stop)

    def post(self, page: str, *args: str, **data: str) -> Any:
        where = f'horizon:admin:volume_types:extras:{page}'
        path = reverse(where, args=(_TYPE, *args))
        return self.client.post(path, data)

    def create(self, key: str, value: str, partner: str = '') -> Any:
        return self.post('create', key=key, value=value, partner=partner)

    def edit(self, key: str, value: str) -> Any:
        return self.post('edit', key, value=value)

    def check_refused(self, response: Any, field: str, words: str) -> None:
        self.assertEqual(200, response.status_code)
        page = html.unescape(response.content.decode())
        groups = page.split('class="form-group')[1:]
        refused = {
            _NAME.findall(group)[0]: group
            for group in groups
            if group.startswith(' has-error')
        }
        self.assertEqual([field] if field else [], list(refused))
        self.assertIn(words, refused.get(field, page))
        self.assertEqual([], self.type.requests)


_FAILURES = (
    cinder_exceptions.ClientException(500, 'broken'),
    cinder_exceptions.Forbidden(403, 'not yours'),
    cinder_exceptions.ConnectionError('nobody there'),
    requests.exceptions.Timeout('slow'),
)


@ddt.ddt
class FailureTestCase(PagesTestCase):
    """Failures of Cinder after the form was opened."""

    def check_kept(self, response: Any, failure: Exception) -> None:
        self.check_refused(response, '', html.unescape(str(failure)))
        self.assertContains(response, 'value="8M"')

    @ddt.data(*_FAILURES)
    def test_failure_to_read_keeps_the_form(self, failure: Exception) -> None:
        self.type.unreadable = failure
        for key in ('rbd:object_size', 'volume_backend_name'):
            self.check_kept(self.create(key, '8M'), failure)
        self.check_kept(self.edit('rbd:object_size', '8M'), failure)

    @ddt.data(*_FAILURES)
    def test_failure_to_save_keeps_the_form(self, failure: Exception) -> None:
        self.type.refuses = failure
        self.check_kept(self.create('rbd:object_size', '8M'), failure)
        self.check_kept(self.edit('rbd:object_size', '8M'), failure)

    def test_forms_are_marked_for_the_script(self) -> None:
        for page in ('create', 'edit'):
            args = (_TYPE, 'rbd:object_size')[: 1 + (page == 'edit')]
            where = f'horizon:admin:volume_types:extras:{page}'
            self.type.specs['rbd:object_size'] = '4M'
            response = self.client.get(reverse(where, args=args))
            self.assertContains(response, 'data-rbd-form')


@ddt.ddt
class CreateTestCase(PagesTestCase):
    @ddt.data(
        ('rbd:object_size', '4M'),
        ('rbd:features', 'layering,exclusive-lock'),
        ('rbd:tenant_options', 'rbd:cache_mode'),
        # Other extra specs are handled as in stock Horizon.
        ('volume_backend_name', 'anything'),
        ('capabilities:rbd_volume_options', '<is> True'),
    )
    @ddt.unpack
    def test_is_saved(self, key: str, value: str) -> None:
        self.create(key, value)
        self.assertEqual([{key: value}], self.type.requests)

    def test_a_pair_in_one_request(self) -> None:
        self.create('rbd:stripe_count', '8', '64K')
        self.assertEqual(
            [{'rbd:stripe_count': '8', 'rbd:stripe_unit': '64K'}],
            self.type.requests,
        )

    @ddt.data(
        ('rbd:object_size', '3M', '', 'value', 'a power of two'),
        ('rbd:stripe_size', '3M', '', 'key', 'unknown key'),
        ('rbd:stripe_unit', '64K', '', 'partner', 'rbd:stripe_count'),
        ('rbd:stripe_count', '8', '', 'partner', 'rbd:stripe_unit'),
        (
            'rbd:stripe_unit',
            '64K',
            'x',
            'partner',
            'not a positive whole number',
        ),
        ('rbd:stripe_unit', '65K', '8', 'value', 'a power of two'),
        ('rbd:cache_mode', 'fast', '', 'value', 'writeback'),
        ('rbd:object_size', '4M', '8', 'partner', 'striping key'),
        ('somebody:else', 'x', '8', 'partner', 'striping key'),
    )
    @ddt.unpack
    def test_stands_at_its_field(
        self, key: str, value: str, partner: str, field: str, words: str
    ) -> None:
        response = self.create(key, value, partner)
        self.check_refused(response, field, words)
        # The form keeps the input.
        self.assertContains(response, f'value="{value}"')

    def test_what_the_type_has_counts(self) -> None:
        self.type.specs['rbd:features'] = 'layering'
        response = self.create('rbd:object_map', 'true')
        self.check_refused(response, 'value', 'contradicts rbd:features')

    def test_a_key_that_is_there(self) -> None:
        self.type.specs['rbd:object_size'] = '4M'
        response = self.create('rbd:object_size', '8M')
        self.check_refused(response, '', 'already exists')

    def test_what_cinder_refuses(self) -> None:
        self.type.refuses = cinder_exceptions.BadRequest(400, 'no back end')
        response = self.create('rbd:object_size', '4M')
        self.check_refused(response, 'value', 'no back end')

    def test_what_cinder_refuses_of_the_partner(self) -> None:
        text = "refused: rbd:stripe_count = '99': more than allowed"
        self.type.refuses = cinder_exceptions.BadRequest(400, text)
        response = self.create('rbd:stripe_unit', '64K', '99')
        self.check_refused(response, 'partner', 'more than allowed')

    def test_another_driver_may_call_its_keys_as_it_likes(self) -> None:
        self.type.specs['rbd:unknown'] = 'x'
        self.create('volume_backend_name', 'ceph')
        self.assertEqual(1, len(self.type.requests))


@ddt.ddt
class EditTestCase(PagesTestCase):
    def test_is_saved(self) -> None:
        self.type.specs.update(
            {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
        )
        self.edit('rbd:stripe_count', '16')
        self.assertEqual([{'rbd:stripe_count': '16'}], self.type.requests)

    def test_somebody_elses(self) -> None:
        self.edit('volume_backend_name', 'x')
        self.assertEqual([{'volume_backend_name': 'x'}], self.type.requests)

    @ddt.data(
        ('rbd:object_size', '3M', 'a power of two'),
        ('rbd:unknown', 'x', 'unknown key'),
    )
    @ddt.unpack
    def test_stands_at_its_field(
        self, key: str, value: str, words: str
    ) -> None:
        self.type.specs[key] = '4M'
        self.check_refused(self.edit(key, value), 'value', words)

    def test_what_is_allowed_is_told(self) -> None:
        self.type.specs['rbd:cache_mode'] = 'none'
        path = reverse(
            'horizon:admin:volume_types:extras:edit',
            args=(_TYPE, 'rbd:cache_mode'),
        )
        response = self.client.get(path)
        self.assertContains(response, '<option value="writeback">')
        # The text is on the page, not in a tooltip.
        self.assertContains(
            response,
            '<div class="help-block" id="id_value_help">Cache mode of '
            'attachments. Allowed: ',
        )
        self.assertNotContains(response, 'rbd-feature-boxes')

    def test_features_are_boxes(self) -> None:
        self.type.specs['rbd:features'] = 'layering'
        path = reverse(
            'horizon:admin:volume_types:extras:edit',
            args=(_TYPE, 'rbd:features'),
        )
        response = self.client.get(path)
        self.assertContains(
            response,
            '<input type="checkbox" value="object-map" '
            'data-requires="exclusive-lock"',
        )


@ddt.ddt
class DataPoolsTestCase(PagesTestCase):
    """The data pools that the forms offer, from Cinder's response."""

    def page(self, name: str, *args: str) -> str:
        where = f'horizon:admin:volume_types:extras:{name}'
        response = self.client.get(reverse(where, args=(_TYPE, *args)))
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def answer(self, **changes: Any) -> None:
        offered = fake_cloud.offered('gold', data_pool=changes)
        answer = {'volume_types': [{**offered, 'id': _TYPE}]}
        self.discover.side_effect = None
        self.discover.return_value = (None, answer)

    @ddt.data(('create',), ('edit', 'rbd:data_pool'))
    def test_of_the_type(self, page: tuple[str, ...]) -> None:
        self.type.specs['rbd:data_pool'] = 'fast'
        self.answer(candidates=['fast', 'slow'])
        text = self.page(*page)
        self.assertIn('<option>fast</option>', text)
        self.assertIn('<option>slow</option>', text)
        self.assertEqual(1, self.discover.call_count)

    def test_not_known(self) -> None:
        for answer in ({}, {'candidates': None}):
            cache.cache.clear()
            self.answer(**answer)
            self.assertNotIn('rbd-data-pools', self.page('create'))

    def test_cinder_does_not_respond(self) -> None:
        """The form has a text field for the value, as before."""
        cache.cache.clear()
        self.discover.side_effect = cinder_exceptions.ClientException(500)
        self.assertNotIn('rbd-data-pools', self.page('create'))
        self.create('rbd:data_pool', 'any')
        self.assertEqual([{'rbd:data_pool': 'any'}], self.type.requests)

    def test_an_invalid_answer(self) -> None:
        self.answer(candidates='fast')
        self.assertNotIn('rbd-data-pools', self.page('create'))

    def test_help_of_the_pair_is_visible(self) -> None:
        text = self.page('create')
        self.assertIn('id="id_partner_help">rbd:stripe_unit and', text)
        self.assertNotIn('help-icon', text)
