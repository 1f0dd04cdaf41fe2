# SPDX-License-Identifier: Apache-2.0

"""Unit tests of cinder_rbd_ext.api.visible_types."""

from cinder import context as cinder_context
from cinder import exception
from cinder.db import api as db
from cinder.tests.unit import fake_constants as fake

from cinder_rbd_ext.api import visible_types
from tests.unit.cinder_rbd_ext.api import base

_NONE = '77777777-0000-4000-8000-000000000000'


class FindTest(base.ApiTestCase):
    """Lookups by a member of a project."""

    def setUp(self) -> None:
        super().setUp()
        self.context = cinder_context.RequestContext(
            fake.USER_ID, fake.PROJECT_ID, is_admin=False
        )
        self.ident = self.private_type('secret', rbd__object_size='1M')

    def _text(self, identity: str) -> str:
        error = self.assertRaises(
            exception.NotFound, visible_types.find, self.context, identity
        )
        return str(error)

    def test_public_type(self) -> None:
        for name in ('striped', self.types['striped']):
            found = visible_types.find(self.context, name)
            self.assertEqual('8', found.extra_specs['rbd:stripe_count'])

    def test_private_type_is_answered_as_no_type(self) -> None:
        for private, none in (
            ('secret', 'no such type'),
            (self.ident, _NONE),
        ):
            wanted = self._text(none).replace(none, private)
            self.assertEqual(wanted, self._text(private))

    def test_private_type_named_like_an_id(self) -> None:
        name = '88888888-0000-4000-8000-000000000000'
        self.private_type(name)
        wanted = self._text(_NONE).replace(_NONE, name)
        self.assertEqual(wanted, self._text(name))

    def test_private_type_of_the_project(self) -> None:
        db.volume_type_access_add(
            self.admin_context, self.ident, fake.PROJECT_ID
        )
        for name in ('secret', self.ident):
            found = visible_types.find(self.context, name)
            self.assertEqual(self.ident, found.id)

    def test_administrator_sees_private_type(self) -> None:
        found = visible_types.find(self.admin_context, 'secret')
        self.assertEqual({'rbd:object_size': '1M'}, found.extra_specs)
