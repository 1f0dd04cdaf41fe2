# SPDX-License-Identifier: Apache-2.0

"""The order of removals, and the lease of the purger."""

import datetime
import errno
import json
import threading
from typing import Any
from unittest import mock

from cinder_rbd_ext.trash import entries
from cinder_rbd_ext.trash import purger
from rbd_volume_options import trash_mark
from tests.unit.cinder_rbd_ext import base

_OVER = datetime.datetime(2000, 1, 1)


def _entry(name: str, project: str = 'a', **how: Any) -> entries.Entry:
    kind = how.pop('kind', trash_mark.DELETED)
    mark = trash_mark.Mark(kind, project, 'volume', **how)
    return entries.Entry(name, name, _OVER, mark)


class TurnTest(base.DriverTestCase):
    def _chosen(self, due: str, places: int = 4, running: str = '') -> str:
        """Return the projects whose images are next."""
        purges = purger.Purger(self.driver)
        purges._running = {str(i): p for i, p in enumerate(running)}
        images = [_entry(str(i), p) for i, p in enumerate(due)]
        chosen = purges._in_turn(images, places)
        return ''.join(entry.mark.project for entry in chosen)

    def test_project_never_has_the_last_place(self) -> None:
        self.assertEqual('aaa', self._chosen('aaaaaaaa'))
        self.assertEqual('', self._chosen('aaaaaaaa', running='aaa'))
        self.assertEqual('b', self._chosen('aaaaaaaab', running='aaa'))

    def test_projects_take_turns(self) -> None:
        self.assertEqual('abab', self._chosen('aaaaabbbb'))
        self.assertEqual('bb', self._chosen('aaaabbbb', running='aa'))

    def test_only_place_is_for_everybody(self) -> None:
        self.assertEqual('a', self._chosen('aaa', places=1))

    def test_project_that_had_no_turn_for_longest_is_next(self) -> None:
        purges = purger.Purger(self.driver)
        images = [_entry(p, p) for p in 'abc']
        for project in 'abc':
            (chosen,) = purges._in_turn(images, 1)
            self.assertEqual(project, chosen.mark.project)


class HealthTest(base.DriverTestCase):
    def _is_degraded(self, *checks: str, status: int = 0) -> bool:
        health = json.dumps({'checks': dict.fromkeys(checks)})
        cluster = mock.Mock(spec=['mon_command'])
        cluster.mon_command.return_value = status, health, 'denied'
        return purger.Purger(self.driver)._is_degraded(
            mock.Mock(cluster=cluster)
        )

    def test_nothing_is_removed_while_ceph_restores_data(self) -> None:
        for check in ('PG_DEGRADED', 'PG_AVAILABILITY', 'PG_DAMAGED'):
            self.assertTrue(self._is_degraded(check, 'OSD_DOWN'), check)
        self.assertFalse(self._is_degraded('POOL_NO_REDUNDANCY'))

    def test_full_cluster_needs_removals(self) -> None:
        for check in ('OSD_FULL', 'OSD_NEARFULL', 'POOL_FULL'):
            self.assertFalse(self._is_degraded('PG_DEGRADED', check), check)

    def test_user_who_may_not_ask_the_monitors_can_purge(self) -> None:
        self.assertFalse(self._is_degraded('PG_DEGRADED', status=-13))

    def test_no_removal_begins_without_the_monitors(self) -> None:
        """It would hold a place until they respond.

        The purger continues with another connection.
        """
        self.assertRaises(
            TimeoutError, self._is_degraded, status=-errno.ETIMEDOUT
        )


class StartTest(base.DriverTestCase):
    def test_removal_that_cannot_start_gives_its_place_back(self) -> None:
        purges = purger.Purger(self.driver)
        self._patch(f'{purger.__name__}.Purger._is_degraded', lambda *_: False)
        self._patch(f'{purger.__name__}.Purger._due', lambda *_: [_entry('1')])
        with mock.patch.object(
            threading.Thread, 'start', autospec=True, side_effect=RuntimeError
        ):
            self.assertRaises(RuntimeError, purges._begin, mock.Mock())
        self.assertEqual({}, purges._running)

    def test_service_has_a_purger_and_other_programs_have_none(self) -> None:
        with mock.patch.object(purger.Purger, 'start', autospec=True) as start:
            self.driver.host = None
            self.driver._start_periodic_tasks()
            start.assert_not_called()
            self.driver.host = 'host@rbd'
            self.driver._start_periodic_tasks()
            start.assert_called_once_with(self.driver.purger)

    def test_delay_is_that_of_deferred_deletion(self) -> None:
        self.override_backend('deferred_deletion_delay', 7)
        self.assertEqual(0, self.driver.purger.delay)
        self.override_backend('enable_deferred_deletion', True)
        self.assertEqual(7, self.driver.purger.delay)

    def test_clouds_that_share_a_pool_do_not_wait_for_each_other(self) -> None:
        cloud_id = '00000000-1111-4222-8333-444444444444'
        marking = self.make_driver(rbd_cloud_id=cloud_id)
        self.assertEqual(f'purger.{cloud_id}', marking.purger._lock)
        self.assertEqual('purger', self.driver.purger._lock)
