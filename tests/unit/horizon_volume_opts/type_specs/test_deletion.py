# SPDX-License-Identifier: Apache-2.0

"""Test the deletion of extra specs in stock Horizon's pages."""

import html
from typing import Any
from unittest import mock

from cinderclient import exceptions as cinder_exceptions
from django.contrib import messages
from django.urls import reverse
from openstack_dashboard import api
from openstack_dashboard.test import helpers

_TYPE = 'a-type'
_PAIR = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
_PARAMETER = '?with_partner=true'


class FakeType:
    """A volume type in a Cinder that refuses to delete half of a pair.

    :ivar loaded: whether the API extension is loaded
    :ivar deleted: the key in each accepted DELETE request
    """

    def __init__(self) -> None:
        self.name = 'gold'
        self.id = _TYPE
        self.specs: dict[str, str] = {'volume_backend_name': 'rbd', **_PAIR}
        self.loaded = True
        self.deleted: list[str] = []

    def get_keys(self) -> dict[str, str]:
        """Return the extra specs."""
        return dict(self.specs)

    def unset_keys(self, names: list[str]) -> None:
        """Delete keys one by one, as cinderclient does."""
        for name in names:
            self.delete(f'/types/{_TYPE}/extra_specs/{name}')

    def delete(self, path: str) -> None:
        """Answer a DELETE request."""
        name, parameter, _ = path.rpartition('/')[2].partition(_PARAMETER)
        if self.loaded and name in _PAIR and not parameter:
            raise cinder_exceptions.BadRequest(400, 'set without the other')
        names = [name]
        if self.loaded and parameter:
            names = list(_PAIR)
        for each in names:
            del self.specs[each]
        self.deleted.append(path.rpartition('/')[2])


class DeletionTestCase(helpers.BaseAdminViewTests):
    def setUp(self) -> None:
        super().setUp()
        self.type = FakeType()
        client = mock.Mock(spec_set=['volume_types', 'client'])
        client.volume_types.get.return_value = self.type
        client.client = self.type
        patch = mock.patch.object(
            api.cinder, 'cinderclient', autospec=True, return_value=client
        )
        patch.start()
        self.addCleanup(patch.stop)
        self.path = reverse(
            'horizon:admin:volume_types:extras:index', args=(_TYPE,)
        )

    def delete(self, *names: str) -> list[str]:
        """Select and delete keys; return the messages of the page."""
        data: dict[str, Any] = {
            'action': 'extras__delete',
            'object_ids': list(names),
        }
        response = self.client.post(self.path, data)
        return [
            str(each) for each in messages.get_messages(response.wsgi_request)
        ]

    def test_one_of_a_pair_is_both_and_the_message_names_both(self) -> None:
        (said,) = self.delete('rbd:stripe_count')
        self.assertIn('rbd:stripe_count and rbd:stripe_unit', said)
        self.assertEqual({'volume_backend_name': 'rbd'}, self.type.specs)
        self.assertEqual(1, len(self.type.deleted))

    def test_both_are_selected(self) -> None:
        said = self.delete('rbd:stripe_count', 'rbd:stripe_unit')
        self.assertEqual({'volume_backend_name': 'rbd'}, self.type.specs)
        self.assertFalse([each for each in said if 'Unable' in each])

    def test_without_the_extension(self) -> None:
        self.type.loaded = False
        self.delete('rbd:stripe_count')
        self.assertEqual({'volume_backend_name': 'rbd'}, self.type.specs)

    def test_other_keys_are_deleted_by_stock(self) -> None:
        self.delete('volume_backend_name')
        self.assertEqual(['volume_backend_name'], self.type.deleted)

    def test_half_of_a_pair_that_is_alone(self) -> None:
        self.type.loaded = False
        del self.type.specs['rbd:stripe_unit']
        self.delete('rbd:stripe_count')
        self.assertEqual(['rbd:stripe_count'], self.type.deleted)

    def test_question_names_both(self) -> None:
        page = html.unescape(self.client.get(self.path).content.decode())
        # The script of Horizon takes the names from this attribute.
        for names in (
            'rbd:stripe_count and rbd:stripe_unit',
            'rbd:stripe_unit and rbd:stripe_count',
            'volume_backend_name',
        ):
            self.assertIn(f'data-display="{names}"', page)

    def test_a_refusal_is_shown(self) -> None:
        del self.type.specs['rbd:stripe_unit']
        said = self.delete('rbd:stripe_count')
        self.assertIn('set without the other', ' '.join(said))
        self.assertIn('rbd:stripe_count', self.type.specs)

    def test_update_metadata(self) -> None:
        request = self.request
        api.cinder.volume_type_extra_delete(
            request, _TYPE, ['rbd:stripe_count', 'rbd:stripe_unit']
        )
        self.assertEqual({'volume_backend_name': 'rbd'}, self.type.specs)
