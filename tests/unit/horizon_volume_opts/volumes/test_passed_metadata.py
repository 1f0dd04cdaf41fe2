# SPDX-License-Identifier: Apache-2.0

"""The metadata that the creation form sends to Cinder."""

import threading
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django import test
from django.core import exceptions
from openstack_dashboard.api import cinder

from horizon_volume_opts import refusals
from horizon_volume_opts.volumes import passed_metadata
from tests.unit import base


class Stock:
    """Stand in for Horizon's function, with the same signature."""

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.error: Exception | None = None

    def function(
        self,
        request: Any,
        size: int,
        name: str,
        description: str,
        volume_type: str,
        snapshot_id: str | None = None,
        metadata: Any = None,
    ) -> str:
        if self.error:
            raise self.error
        self.given.append(metadata)
        return name


class CarryingTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.stock = Stock()
        self.create = passed_metadata._carrying(self.stock.function)
        self.request = test.RequestFactory().get('/')

    def test_other_callers_get_what_they_got(self) -> None:
        self.create(self.request, 1, 'n', 'd', 't', metadata={'a': 'b'})
        self.create(self.request, 1, 'n', 'd', 't')
        self.assertEqual([{'a': 'b'}, None], self.stock.given)

    def test_carries_what_a_form_asks_for(self) -> None:
        with passed_metadata.asking(self.request, {'rbd:object_size': '1M'}):
            self.create(self.request, 1, 'n', 'd', 't', metadata={})
            self.create(self.request, 1, 'n', 'd', 't', None, {'a': 'b'})
        self.create(self.request, 1, 'n', 'd', 't', metadata={})
        self.assertEqual(
            [
                {'rbd:object_size': '1M'},
                {'a': 'b', 'rbd:object_size': '1M'},
                {},
            ],
            self.stock.given,
        )

    def test_another_request_at_the_same_time_is_left_alone(self) -> None:
        other = test.RequestFactory().get('/')
        with passed_metadata.asking(self.request, {'rbd:object_size': '1M'}):
            thread = threading.Thread(
                target=self.create,
                args=(other, 1, 'n', 'd', 't'),
                kwargs={'metadata': {}},
            )
            thread.start()
            thread.join()
        self.assertEqual([{}], self.stock.given)

    def test_a_refusal_is_kept_and_shown(self) -> None:
        self.stock.error = cinder_exceptions.BadRequest(
            400, "RBD volume option refused: rbd:object_size = '3': no"
        )
        with passed_metadata.asking(
            self.request, {'rbd:object_size': '3'}
        ) as passed:
            error = self.assertRaises(
                exceptions.ValidationError,
                self.create,
                self.request,
                1,
                'n',
                'd',
                't',
            )
        self.assertEqual(
            refusals.Refusal('rbd:object_size', '3\xa0B: no'), passed.refusal
        )
        self.assertEqual(['3\xa0B: no'], error.messages)

    def test_faults_of_others_are_theirs(self) -> None:
        self.stock.error = cinder_exceptions.OverLimit(413, 'quota')
        with passed_metadata.asking(self.request, {}) as passed:
            self.assertRaises(
                cinder_exceptions.OverLimit,
                self.create,
                self.request,
                1,
                'n',
                'd',
                't',
            )
        self.assertIsNone(passed.refusal)

    def test_horizon_s_function_is_wrapped(self) -> None:
        made = passed_metadata._carrying(self.stock.function)
        self.assertIs(made.__code__, cinder.volume_create.__code__)
