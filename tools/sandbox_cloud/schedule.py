# SPDX-License-Identifier: Apache-2.0

"""Run tasks that depend on each other, with maximum parallelism."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import concurrent.futures
import dataclasses


@dataclasses.dataclass(frozen=True)
class Task:
    """An action that runs after the tasks that it needs."""

    name: str
    action: Callable[[], None]
    needs: frozenset[str]


def run(tasks: Sequence[Task]) -> None:
    """Run all tasks; after a failure, start no more tasks and raise it.

    :raises ValueError: a task needs a task that does not exist, or tasks
        depend on each other in a cycle
    """
    waiting = {task.name: task for task in tasks}
    for task in tasks:
        if unknown := task.needs - waiting.keys():
            raise ValueError(f'{task.name} needs unknown {sorted(unknown)}')
    done: set[str] = set()
    # Threads only wait for processes, so their number may exceed the cores.
    with concurrent.futures.ThreadPoolExecutor(len(tasks) or 1) as pool:
        running: dict[concurrent.futures.Future[None], str] = {}
        while waiting or running:
            for task in [t for t in waiting.values() if t.needs <= done]:
                running[pool.submit(task.action)] = task.name
                del waiting[task.name]
            if not running:
                raise ValueError(
                    f'circular dependency of tasks: {sorted(waiting)}'
                )
            ended, _ = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in ended:
                name = running.pop(future)
                if future.exception():
                    waiting.clear()
                future.result()
                done.add(name)
