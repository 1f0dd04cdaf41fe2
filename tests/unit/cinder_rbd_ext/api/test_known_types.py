# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder import context as cinder_context
from cinder import exception
from cinder.db import api as db
from cinder.tests.unit import fake_constants as fake
from cinder.volume import volume_types

from cinder_rbd_ext.api import known_types
from tests.unit.cinder_rbd_ext.api import base

_NONE = '77777777-0000-4000-8000-000000000000'


class KnownTypesTest(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 1000.0
        self.known = known_types.KnownTypes(lambda: self.now)
        self.read = self.mock_object(
            volume_types,
            'get_all_types',
            autospec=True,
            side_effect=volume_types.get_all_types,
        )

    def _specs(self) -> dict[str, Any]:
        all_types = self.known.all()
        self.assertIsNotNone(all_types)
        return {each['name']: each['extra_specs'] for each in all_types or ()}

    def test_all_types(self) -> None:
        """Private types of any project are among them."""
        ident = self.add_type(
            'secret', {'rbd:object_map': 'true'}, is_public=False
        )
        specs = self._specs()
        self.assertEqual({'rbd:object_map': 'true'}, specs['secret'])
        self.assertEqual(base.TYPES['striped'], specs['striped'])
        self.assertIn(ident, {each['id'] for each in self.known.all() or ()})

    def test_private_type_is_looked_up_for_each_request(self) -> None:
        """Its extra specs must not reach other projects."""
        ident = self.add_type('secret', {}, is_public=False)
        for name in (ident, 'secret', 'nowhere else', None, ['any'], 1):
            self.assertIsNone(self.known.public(name))
        striped = self.known.public('striped') or {}
        self.assertEqual(base.TYPES['striped'], striped['extra_specs'])
        self.assertEqual(striped, self.known.public(striped['id']))

    def test_read_every_few_seconds(self) -> None:
        for seconds, reads in ((0, 1), (4.9, 1), (5, 2), (9.9, 2)):
            self.now = 1000.0 + seconds
            self._specs()
            self.assertEqual(reads, self.read.call_count)

    def test_change_is_seen_once_types_are_forgotten(self) -> None:
        self._specs()
        self.set_specs('any', rbd__object_map='true')
        self.assertEqual({}, self._specs()['any'])
        self.known.forget()
        self.assertEqual({'rbd:object_map': 'true'}, self._specs()['any'])

    def test_change_while_they_are_read(self) -> None:
        """What was read before the change is not kept."""

        def read(*args: Any, **kwargs: Any) -> Any:
            # Another request does not wait.
            self.assertIsNone(self.known.all())
            self.known.forget()
            self.read.side_effect = None
            return []

        self.read.side_effect = read
        self.read.return_value = []
        for reads in (1, 2, 2):
            self.assertEqual((), self.known.all())
            self.assertEqual(reads, self.read.call_count)


class VisibleTest(base.ApiTestCase):
    """Lookups by a member of a project."""

    def setUp(self) -> None:
        super().setUp()
        self.context = cinder_context.RequestContext(
            fake.USER_ID, fake.PROJECT_ID, is_admin=False
        )
        self.ident = self.add_type(
            'secret', {'rbd:object_size': '1M'}, is_public=False
        )

    def _text(self, identity: str) -> str:
        error = self.assertRaises(
            exception.NotFound, known_types.visible, self.context, identity
        )
        return str(error)

    def test_public_type(self) -> None:
        for name in ('striped', self.types['striped']):
            visible = known_types.visible(self.context, name)
            self.assertEqual('8', visible.extra_specs['rbd:stripe_count'])

    def test_private_type_is_answered_as_no_type(self) -> None:
        for private, none in (
            ('secret', 'no such type'),
            (self.ident, _NONE),
        ):
            wanted = self._text(none).replace(none, private)
            self.assertEqual(wanted, self._text(private))

    def test_private_type_named_like_an_id(self) -> None:
        name = '88888888-0000-4000-8000-000000000000'
        self.add_type(name, {}, is_public=False)
        wanted = self._text(_NONE).replace(_NONE, name)
        self.assertEqual(wanted, self._text(name))

    def test_private_type_of_the_project(self) -> None:
        db.volume_type_access_add(
            self.admin_context, self.ident, fake.PROJECT_ID
        )
        for name in ('secret', self.ident):
            visible = known_types.visible(self.context, name)
            self.assertEqual(self.ident, visible.id)

    def test_administrator_sees_private_type(self) -> None:
        visible = known_types.visible(self.admin_context, 'secret')
        self.assertEqual({'rbd:object_size': '1M'}, visible.extra_specs)
