# SPDX-License-Identifier: Apache-2.0

import threading
from typing import Any
from unittest import mock

from cinder import objects
from cinder.scheduler import rpcapi
import oslo_messaging
import webob.exc

from cinder_rbd_ext.api import pools
from tests.unit import base
from tests.unit.cinder_rbd_ext.api import base as api_base


class ReportedPoolsTest(base.TestCase):
    """Pools from the scheduler, and how long they are cached."""

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(rpcapi, 'SchedulerAPI', autospec=True)
        self.scheduler = patch.start().return_value
        self.scheduler.client = mock.create_autospec(
            oslo_messaging.rpc.client.RPCClient, instance=True
        )
        self.addCleanup(patch.stop)
        self.scheduler.get_pools.return_value = api_base.POOLS
        self.now = 1000.0
        self.reported = pools.ReportedPools(lambda: self.now)

    def _matching(self, **specs: str) -> list[str]:
        matching = self.reported.matching(specs)
        return [pool.name.partition('#')[0] for pool in matching]

    def test_asked_for_once_in_a_while(self) -> None:
        for seconds, calls in ((0, 1), (9.9, 1), (10, 2), (11, 2)):
            self.now = 1000.0 + seconds
            self.reported.all()
            self.assertEqual(calls, self.scheduler.get_pools.call_count)

    def test_nothing_is_remembered_for_seconds(self) -> None:
        """Otherwise each request asks until the first back end reports."""
        self.scheduler.get_pools.return_value = []
        for _ in range(3):
            self.assertIn('has reported', self._unavailable())
        self.assertEqual(1, self.scheduler.get_pools.call_count)
        self.scheduler.get_pools.return_value = api_base.POOLS
        self.now += pools.MIN_AGE
        self.assertEqual(3, len(self.reported.all()))

    def test_back_end_that_has_just_been_added(self) -> None:
        self.reported.all()
        self.scheduler.get_pools.return_value = [
            *api_base.POOLS,
            api_base.pool('new', api_base.settings()),
        ]
        for seconds, names in ((-0.1, []), (0.0, ['host@new'])):
            self.now = 1000.0 + pools.MIN_AGE + seconds
            self.assertEqual(names, self._matching(volume_backend_name='new'))
        self.now += pools.MIN_AGE - 0.1
        self.assertEqual([], self._matching(volume_backend_name='other'))
        self.assertEqual(2, self.scheduler.get_pools.call_count)

    def test_pools_match_extra_specs(self) -> None:
        self.assertEqual(
            ['host@rbd'], self._matching(volume_backend_name='rbd')
        )
        specs: Any = {'capabilities:rbd_volume_options': '<is> True'}
        self.assertEqual(['host@rbd', 'host@rbd2'], self._matching(**specs))
        specs = {'rbd:stripe_unit': '64K', 'vendor:x': '1'}
        self.assertEqual(3, len(self._matching(**specs)))
        self.assertEqual([], self._matching(volume_backend_name='none'))

    def test_operand_that_is_none(self) -> None:
        self.assertEqual([], self._matching(volume_backend_name='<or>'))
        self.assertEqual([], self._matching(rbd_max_stripe_count='s< x'))

    def test_pool_of_volume_is_found_by_host(self) -> None:
        pool = self._holding(host='host@rbd#rbd')
        self.assertIsNotNone(pool)
        self.assertIsNone(self._holding(host='host@none#none'))
        self.assertIsNone(self._holding(host=None))

    def test_holding_of_a_cluster(self) -> None:
        """Pools of a cluster have the cluster's name instead of the host's."""
        where = {'host': 'one@rbd#rbd', 'cluster_name': 'host@rbd#rbd'}
        pool = self._holding(**where)
        self.assertEqual('host@rbd#rbd', pool and pool.name)

    def _holding(self, **where: str | None) -> pools.Pool | None:
        return self.reported.holding(
            objects.Volume(**{'cluster_name': None, **where})
        )

    def _unavailable(self) -> str:
        error = self.assertRaises(
            webob.exc.HTTPServiceUnavailable, self.reported.all
        )
        return str(error.explanation)

    def test_failure_is_remembered_for_seconds(self) -> None:
        self.scheduler.get_pools.side_effect = oslo_messaging.MessagingTimeout
        for seconds, calls in ((0, 1), (4.9, 1), (5, 2), (9.9, 2)):
            self.now = 1000.0 + seconds
            self.assertIn('from the scheduler', self._unavailable())
            self.assertEqual(calls, self.scheduler.get_pools.call_count)
        self.scheduler.get_pools.side_effect = None
        self.now = 1010.0
        self.assertEqual(3, len(self.reported.all()))

    def test_request_that_does_not_require_the_pools(self) -> None:
        """It uses the last pools, and does not wait for the scheduler."""
        known = self.reported.known()
        self.assertEqual(3, len(known))
        self.scheduler.get_pools.side_effect = oslo_messaging.MessagingTimeout
        for seconds, calls in ((9, 1), (10, 2), (15, 2), (69, 2), (70, 3)):
            self.now = 1000.0 + seconds
            self.assertIs(known, self.reported.known())
            self.assertEqual(calls, self.scheduler.get_pools.call_count)
        # Others still fail.
        self._unavailable()
        self.scheduler.get_pools.side_effect = None
        self.now += pools.MAX_FAILURE_AGE
        self.reported.all()
        self.assertIsNot(known, self.reported.known())

    def test_pools_that_were_never_known(self) -> None:
        self.scheduler.get_pools.side_effect = oslo_messaging.MessagingTimeout
        for _ in range(3):
            self.assertEqual((), self.reported.known())
            self.assertEqual((), self.reported.known_matching({}))
        self.assertEqual(1, self.scheduler.get_pools.call_count)

    def test_known_pools_without_a_match(self) -> None:
        """The scheduler is not asked again for a pool that it lacks."""
        specs = {'volume_backend_name': 'none'}
        for _ in range(3):
            self.now += pools.MIN_AGE
            self.assertEqual((), self.reported.known_matching(specs))
        self.assertEqual(1, self.scheduler.get_pools.call_count)

    def test_message_broker_that_is_down(self) -> None:
        self.scheduler.get_pools.side_effect = (
            oslo_messaging.MessageDeliveryFailure
        )
        self._unavailable()

    def _while_one_asks(self) -> threading.Event:
        """Start another request that blocks until the event is set."""
        asking, go_on = threading.Event(), threading.Event()

        def late(*args: Any, **kwargs: Any) -> Any:
            asking.set()
            go_on.wait(10)
            return api_base.POOLS

        self.scheduler.get_pools.side_effect = late
        thread = threading.Thread(target=self.reported.all)
        thread.start()
        self.addCleanup(thread.join, 10)
        self.addCleanup(go_on.set)
        self.assertTrue(asking.wait(10))
        return go_on

    def test_others_go_on_with_the_last_answer(self) -> None:
        self.reported.all()
        self.now += pools.MAX_AGE
        self._while_one_asks()
        self.assertEqual(3, len(self.reported.all()))
        self.assertEqual(2, self.scheduler.get_pools.call_count)

    def test_others_go_on_with_the_last_failure(self) -> None:
        self.scheduler.get_pools.side_effect = oslo_messaging.MessagingTimeout
        self._unavailable()
        self.now += pools.MAX_FAILURE_AGE
        self._while_one_asks()
        self._unavailable()
        self.assertEqual(2, self.scheduler.get_pools.call_count)

    def test_others_wait_for_the_first_answer(self) -> None:
        go_on = self._while_one_asks()
        threading.Timer(0.2, go_on.set).start()
        self.assertEqual(3, len(self.reported.all()))
        self.assertEqual(1, self.scheduler.get_pools.call_count)


class TimeoutTest(api_base.ApiTestCase):
    """Cinder's own RPC client without a server."""

    def test_scheduler_has_seconds_to_answer(self) -> None:
        reported = pools.ReportedPools()
        reported.all()
        prepared = reported._scheduler._get_cctxt()
        self.assertEqual(pools.TIMEOUT, prepared.timeout)
        self.assertEqual(1, prepared.retry)
        self.assertEqual('3.0', prepared.target.version)
        self.assertTrue(prepared.can_send_version('3.0'))
