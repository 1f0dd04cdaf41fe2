# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any

from rbd_bench import compare
from rbd_bench import steady
from rbd_bench.control_plane import plan
from rbd_bench.control_plane import ratios
from rbd_bench.control_plane import tasks
from tests.unit import base
from tests.unit.rbd_bench.control_plane import stand_in

_CHOICES = tasks.Choices(('stock', 'rbd'))
_CREATE = 'cinder_v3.create_volume'


def _plan(rounds: int = 2) -> plan.Plan:
    whole_plan = plan.load()
    settings = dataclasses.replace(
        whole_plan.settings, rounds=rounds, at_once=(2,)
    )
    return dataclasses.replace(whole_plan, settings=settings)


def _sample(
    side: str, number: int, *seconds: float, failed: int = 0
) -> ratios.Sample:
    """Return the creations of a workload."""
    return ratios.Sample(
        f'create-and-delete/2/{side}/{number}',
        {_CREATE: list(seconds)} if seconds else {},
        len(seconds) + failed,
        failed,
        'Timeout: sorry' if failed else '',
    )


def _row(*samples: ratios.Sample, rounds: int = 2) -> ratios.Row:
    """Return the row of creations."""
    return ratios.rows(_plan(rounds), _CHOICES, samples)[0]


class RatiosTest(base.TestCase):
    def test_recorded_results(self) -> None:
        samples = list(ratios.samples(stand_in.results()))
        self.assertEqual(12, len(samples))
        by_title = {each.title: each for each in samples}
        clone = by_title['create-volume-and-clone/2/second/1']
        # The creation inside of the clone does not count as a creation.
        self.assertEqual(
            {_CREATE: 2, 'cinder.clone_volume': 2},
            {name: len(each) for name, each in clone.seconds.items()},
        )
        self.assertEqual(
            (2, 0, ''), (clone.iterations, clone.failed, clone.error)
        )
        for row in ratios.rows(_plan(), _CHOICES, samples):
            self.assertIsNotNone(row.ratio, str(row))

    def test_ratio_is_of_the_medians_of_rounds(self) -> None:
        row = _row(
            *(_sample('first', 0, 4.0, 6.0), _sample('second', 0, 2.0, 3.0)),
            *(_sample('first', 1, 5.0, 5.0), _sample('second', 1, 2.5, 2.5)),
            *(_sample('first', 2, 5.0, 5.0), _sample('second', 2, 2.5, 2.5)),
            rounds=3,
        )
        self.assertEqual(
            [5.0, 2.5], [x.median for x in (row.first, row.second) if x]
        )
        self.assertEqual(2.0, row.ratio)
        self.assertEqual(compare.FASTER, row.verdict)

    def test_rounds_that_overlap(self) -> None:
        row = _row(
            *(_sample('first', 0, 4.0), _sample('second', 0, 3.0)),
            *(_sample('first', 1, 6.0), _sample('second', 1, 5.0)),
            *(_sample('first', 2, 6.0), _sample('second', 2, 3.0)),
            rounds=3,
        )
        self.assertEqual(steady.NOT_SHOWN, row.verdict)

    def test_too_few_rounds(self) -> None:
        row = _row(
            *(_sample('first', 0, 4.0), _sample('second', 0, 2.0)),
            *(_sample('first', 1, 4.0), _sample('second', 1, 2.0)),
        )
        self.assertEqual(2.0, row.ratio)
        self.assertEqual(steady.UNDECIDED, row.verdict)

    def test_failed_iterations(self) -> None:
        row = _row(
            *(_sample('first', 0, 4.0), _sample('second', 0, 2.0, failed=1)),
            *(_sample('first', 1, 4.0), _sample('second', 1, 2.0, failed=2)),
        )
        self.assertEqual(3, row.failed)
        self.assertEqual(2.0, row.ratio)

    def test_type_that_fails(self) -> None:
        row = _row(_sample('first', 0, 4.0), _sample('second', 0, failed=2))
        self.assertIsNone(row.second)
        self.assertIsNone(row.ratio)
        self.assertEqual((ratios.NOT_MEASURED, 2), (row.verdict, row.failed))

    def test_failed_action_has_no_duration(self) -> None:
        report = _report(
            error=['TimeoutException', 'too slow', 'a traceback'],
            atomic_actions=[
                _action(_CREATE, 2.0),
                {**_action('cinder_v3.delete_volume', 600.0), 'failed': True},
            ],
        )
        (sample,) = ratios.samples(report)
        self.assertEqual({_CREATE: [2.0]}, sample.seconds)
        self.assertEqual(
            (1, 1, 'TimeoutException: too slow'),
            (sample.iterations, sample.failed, sample.error),
        )


def _action(name: str, took: float) -> dict[str, Any]:
    return {
        'name': name,
        'started_at': 100.0,
        'finished_at': 100.0 + took,
        'children': [],
    }


def _report(**iteration: Any) -> Any:
    """Return a report of one iteration."""
    workload = {'data': [{'error': [], **iteration}]}
    subtask = {'title': 'a/1/first/0', 'workloads': [workload]}
    return {'tasks': [{'subtasks': [subtask]}]}
