# SPDX-License-Identifier: Apache-2.0

import threading

from sandbox_cloud import schedule
from tests.unit import base


class RunTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.done: list[str] = []

    def _task(self, name: str, *needs: str) -> schedule.Task:
        return schedule.Task(
            name, lambda: self.done.append(name), frozenset(needs)
        )

    def test_nothing_to_do(self) -> None:
        schedule.run([])

    def test_order_follows_needs_not_the_list(self) -> None:
        schedule.run(
            [
                self._task('api', 'schema'),
                self._task('schema', 'database'),
                self._task('database'),
            ]
        )
        self.assertEqual(['database', 'schema', 'api'], self.done)

    def test_independent_tasks_run_at_the_same_time(self) -> None:
        both = threading.Barrier(2, timeout=20)

        def meet() -> None:
            both.wait()

        schedule.run(
            [
                schedule.Task(name, meet, frozenset())
                for name in ('ceph', 'mariadb')
            ]
        )

    def test_failure_is_raised_and_nothing_more_starts(self) -> None:
        def fail() -> None:
            raise RuntimeError('no disk')

        error = self.assertRaises(
            RuntimeError,
            schedule.run,
            [
                schedule.Task('ceph', fail, frozenset()),
                self._task('cinder', 'ceph'),
            ],
        )
        self.assertEqual('no disk', str(error))
        self.assertEqual([], self.done)

    def test_unknown_need(self) -> None:
        error = self.assertRaises(
            ValueError, schedule.run, [self._task('a', 'b')]
        )
        self.assertIn("unknown ['b']", str(error))

    def test_circular_tasks_are_named(self) -> None:
        tasks = [self._task('a', 'b'), self._task('b', 'a')]
        error = self.assertRaises(ValueError, schedule.run, tasks)
        self.assertIn("['a', 'b']", str(error))
