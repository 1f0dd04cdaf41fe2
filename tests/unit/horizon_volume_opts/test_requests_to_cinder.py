# SPDX-License-Identifier: Apache-2.0

"""Requests of stock forms, with whatever customization around them."""

import threading
import types
from typing import Any
from unittest import mock

from cinderclient import exceptions as cinder_exceptions
from cinderclient.v3 import volumes

from horizon_volume_opts import requests_to_cinder
from tests.unit.horizon_volume_opts import horizon_case

_ASKED = {'rbd:object_size': '1M'}


class SubmissionTest(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.manager = volumes.VolumeManager(mock.Mock())
        self.sent: list[Any] = []
        self.answer: Any = None
        self.patch(volumes.VolumeManager, '_create', self._create)
        self.patch(volumes.VolumeManager, '_action', self._act)

    def _create(self, url: str, body: Any, *args: Any) -> Any:
        self.sent.append(body['volume']['metadata'])
        return self._act()

    def _act(self, *args: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def submitting(self, metadata: Any = None) -> Any:
        return requests_to_cinder.submitting(types.SimpleNamespace(), metadata)

    def test_another_request_at_the_same_time_is_left_alone(self) -> None:
        with self.submitting(_ASKED):
            thread = threading.Thread(
                target=self.manager.create, args=(1,), kwargs={'metadata': {}}
            )
            thread.start()
            thread.join()
        self.assertEqual([{}], self.sent)

    def test_handlers_of_stock_forms_let_a_refusal_pass(self) -> None:
        self.answer = cinder_exceptions.BadRequest(400, 'why')
        refused = None
        try:
            with self.submitting():
                try:
                    self.manager.extend('v', 2)
                except Exception:
                    self.fail('hidden by a handler')
        except requests_to_cinder.RefusedRequest as error:
            refused = error.refusal.text
        self.assertEqual('why', refused)
        # A later request of another form.
        self.assertRaises(
            cinder_exceptions.BadRequest, self.manager.extend, 'v', 2
        )
