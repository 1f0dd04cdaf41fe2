# SPDX-License-Identifier: Apache-2.0

"""Changes of keys that are fixed when a volume is created."""

from typing import Any

from tests.unit.cinder_rbd_ext.api import base


class CorrectionsTest(base.ApiTestCase):
    """PUT, POST and DELETE of metadata, by default by an administrator."""

    def setUp(self) -> None:
        super().setUp()
        self.member, self.app = self.app, self.admin
        self.there = {'rbd:object_size': '4M', 'a': 'b'}
        self.path = self._path(self.volume(self.there, base.MADE))

    def _path(self, volume: Any) -> str:
        return f'/volumes/{volume.id}/metadata'

    def _fixed(self, **more: str) -> base.Answer:
        striping = {k: v for k, v in base.MADE.items() if 'stripe' in k}
        return {'metadata': {'rbd:object_size': '1M', **striping, **more}}

    def test_administrators_say_what_is_so(self) -> None:
        for method in ('POST', 'PUT'):
            self.ok(method, self.path, self._fixed())
        self.ok('DELETE', f'{self.path}/rbd:stripe_unit')
        self.ok('DELETE', f'{self.path}/rbd:stripe_count')
        metadata = self.ok('GET', self.path)['metadata']
        self.assertEqual({'rbd:object_size': '1M'}, metadata)

    def test_administrators_say_what_is_not_so(self) -> None:
        for more in (
            {'rbd:object_size': '2M'},
            {'rbd:stripe_count': '4'},
            {'rbd:object_map': 'true'},
            {'rbd:features': 'layering'},
        ):
            body = self._fixed(**more)
            (key,) = more
            self.refused(400, key.partition('_')[0], 'PUT', self.path, body)
        body = {'metadata': {'rbd:stripe_unit': '64K'}}
        self.refused(400, 'without', 'POST', self.path, body)

    def test_other_keys_are_checked_too(self) -> None:
        for more in ({'rbd:foo': 'x'}, {'RBD:stripe_unit': '1'}):
            body = {'metadata': more}
            self.refused(400, 'unknown key', 'PUT', self.path, body)

    def test_nothing_recorded(self) -> None:
        path = self._path(self.volume(self.there))
        body = self._fixed()
        self.refused(400, 'has no record of its image', 'PUT', path, body)
        self.ok('DELETE', f'{path}/rbd:object_size')

    def test_tenants_may_not_correct_fixed_keys(self) -> None:
        words = 'fixed at creation of the volume'
        body = self._fixed()
        self.refused(400, words, 'PUT', self.path, body, app=self.member)
        path = f'{self.path}/rbd:object_size'
        self.refused(400, words, 'DELETE', path, app=self.member)

    def test_back_end_that_is_not_ours(self) -> None:
        """Other back ends ignore the keys, so the owner may remove them."""
        path = self._path(self.volume(self.there, volume_type='fake'))
        words = 'fixed at creation of the volume'
        body = self._fixed()
        self.refused(400, words, 'PUT', path, body, app=self.member)
        self.ok('DELETE', f'{path}/rbd:object_size', app=self.member)
        self.assertEqual({'a': 'b'}, self.ok('GET', path)['metadata'])
