# SPDX-License-Identifier: Apache-2.0

import collections
from collections.abc import Callable
from typing import Any

import webob

from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import doors
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import restrictions
from tests.unit.cinder_rbd_ext.api import base


class DoorTest(base.ApiTestCase):
    def _passage(self, check: Callable[[api_call.ApiCall], Any]) -> Any:
        """Return the generator of a request that a check lets pass."""
        known = restrictions.Restrictions(
            pools.ReportedPools(), known_types.KnownTypes()
        )
        door = doors.Door('volumes', 'create', check, part='volume')
        req = webob.Request.blank('/')
        req.environ['cinder.context'] = self.admin_context
        body = {'volume': {'size': 1}}
        return door.method(known)(None, req, body, id='x')

    def _respond(self, passage: Any) -> dict[str, str]:
        headers: dict[str, str] = {}
        self.assertIsNone(next(passage))
        self.assertRaises(StopIteration, passage.send, headers)
        return headers

    def test_check_gets_the_part_of_the_body_and_the_path(self) -> None:
        seen = []

        def check(request: api_call.ApiCall) -> None:
            seen.append((request.part, request.ids, request.volume_id))

        self.assertEqual({}, self._respond(self._passage(check)))
        self.assertEqual([({'size': 1}, {'id': 'x'}, 'x')], seen)

    def test_notice_is_a_header_of_the_response(self) -> None:
        def check(request: api_call.ApiCall) -> Any:
            request.notice = 'before'

            def after(response: Any) -> None:
                request.notice = 'after'

            return after

        headers = self._respond(self._passage(check))
        self.assertEqual({'Warning': '299 - "after"'}, headers)

    def test_response_of_a_check_replaces_that_of_cinder(self) -> None:
        response = webob.Response()
        passage = self._passage(lambda request: response)
        self.assertIs(response, next(passage))
        self.assertRaises(StopIteration, next, passage)

    def test_each_route_has_one_door(self) -> None:
        routes = collections.Counter(
            (controller, door.name)
            for door in doors.DOORS
            for controller in door.controllers.split()
        )
        self.assertEqual({1}, set(routes.values()))

    def test_doors_run_before_cinder_and_shown_responses_after(self) -> None:
        request = self.create({'rbd:object_size': '3M'})
        text = (
            "RBD volume option refused: rbd:object_size = '3M' (volume "
            'metadata): not a power of two; allowed: a power of two from 4 '
            'KiB to 32 MiB'
        )
        answer = self.call('POST', '/volumes', request)
        self.assertEqual(text, answer.json['badRequest']['message'])
        shown = self.ok('GET', f'/volumes/{self.volume(made=base.MADE).id}')
        self.assertIn('os-rbd-volume-options:object_size', shown['volume'])


class CallersTest(base.ApiTestCase):
    """Who may not send a request is told nothing about its keys."""

    def test_policy_and_project_are_checked_before_the_keys(self) -> None:
        volume = self.volume({'rbd:cache_mode': 'writeback'}, base.MADE)
        path = f'/volumes/{volume.id}'
        items = f'{path}/metadata'
        snapshot = f'/snapshots/{self.snapshot(volume)}/metadata'
        wrong = {'rbd:no_such_key': '1'}
        requests: tuple[Any, ...] = (
            ('POST', '/volumes', self.create(wrong)),
            ('PUT', path, {'volume': {'metadata': wrong}}),
            ('POST', items, {'metadata': wrong}),
            ('POST', items, {'metadata': {'rbd:cache_mode': 'none'}}),
            ('PUT', items, {'metadata': wrong}),
            ('PUT', f'{items}/rbd:no_such_key', {'meta': wrong}),
            ('PUT', f'{items}/RBD:object_size', {'meta': {'a': 'b'}}),
            ('DELETE', f'{items}/RBD:object_size', None),
            ('POST', f'{path}/action', {'os-retype': {'new_type': 'fake'}}),
            ('POST', snapshot, {'metadata': wrong}),
        )
        for method, where, body in requests[1:]:
            answer = self.call(method, where, body, app=self.stranger)
            self.assertEqual(404, answer.status_int, (where, answer.text))
        self.enforce_new_defaults()
        for method, where, body in requests:
            answer = self.call(method, where, body, app=self.reader)
            self.assertEqual(403, answer.status_int, (where, answer.text))
            self.assertNotIn('refused', answer.text)
