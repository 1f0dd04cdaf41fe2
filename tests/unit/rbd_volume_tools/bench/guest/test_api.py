# SPDX-License-Identifier: Apache-2.0

import time
from unittest import mock

from openstack import exceptions

from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench.guest import api
from tests.unit import base
from tests.unit.rbd_volume_tools.bench.guest import fake_cloud


class RequestTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.service = fake_cloud.Service()
        self.service.routes = [('GET /things', lambda: {'things': []})]

    def test_answer_is_parsed(self) -> None:
        answer = api.request(self.service, 'GET', '/things')
        self.assertEqual({'things': []}, answer)

    def test_refusal_names_request_and_status(self) -> None:
        self.service.faults['GET'] = 403
        error = self.assertRaises(
            processes.EngineError,
            *(api.request, self.service, 'GET', '/things'),
        )
        self.assertIn('GET /things: 403: ', str(error))

    def test_missing_resource_is_an_empty_answer(self) -> None:
        self.service.faults['GET'] = 404
        answer = api.request(self.service, 'GET', '/things', missing=True)
        self.assertEqual({}, answer)

    def test_no_connection(self) -> None:
        lost = exceptions.SDKException('lost')
        with mock.patch.object(
            self.service, 'request', autospec=True, side_effect=lost
        ):
            error = self.assertRaises(
                processes.EngineError,
                *(api.request, self.service, 'GET', '/things'),
            )
        self.assertIn('lost', str(error))

    def test_wait_ends_with_an_error_after_the_limit(self) -> None:
        answers = iter([None, 5])
        with mock.patch.object(time, 'sleep', autospec=True):
            self.assertEqual(5, api.wait(lambda: next(answers), 'no answer'))
        error = self.assertRaises(
            processes.EngineError, api.wait, lambda: None, 'no answer', -1
        )
        self.assertIn('no answer', str(error))
