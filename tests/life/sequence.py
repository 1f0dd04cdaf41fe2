# SPDX-License-Identifier: Apache-2.0

"""One sequence: its steps, with checks after each step and at the end."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent import futures
import dataclasses
import random
import traceback

from tests.life import failures
from tests.life import invariants
from tests.life import leftovers
from tests.life import purge
from tests.life import removing
from tests.life import rule as rules
from tests.life import steps as steps_module
from tests.life import world as worlds

#: The kind of failures that are not caused by the cloud.
BROKEN = 'broken-test'
#: The number of steps between checks of the content of all volumes.
_ALL_READ = 6


@dataclasses.dataclass
class Result:
    """The result of a sequence."""

    steps: list[steps_module.Step] = dataclasses.field(default_factory=list)
    violations: list[failures.Violation] = dataclasses.field(
        default_factory=list
    )


def run(
    world: worlds.World, groups: Iterable[steps_module.Group], seed: str
) -> Result:
    """Run a sequence with all checks, and clean up.

    :param seed: determines the order of the final deletions
    """
    result = Result()
    ended = None
    try:
        _run(world, groups, seed, result)
    except failures.Violation as violation:
        ended = violation
    except Exception as error:
        world.tell(''.join(traceback.format_tb(error.__traceback__)))
        ended = failures.Violation(BROKEN, repr(error))
    result.violations = [*world.found, *([ended] if ended else [])]
    if result.violations:
        try:
            purge.sequence(world)
        except Exception as error:
            world.tell(f'cannot clean up: {error!r}')
    return result


def _run(
    world: worlds.World,
    groups: Iterable[steps_module.Group],
    seed: str,
    result: Result,
) -> None:
    idents: set[str] = set()
    for group in groups:
        result.steps += group
        _take(world, group)
        idents |= {v.ident for v in world.model.volumes.values()}
        idents |= {i.ident for i in world.model.images.values()}
    world.tell('end: delete all')
    removing.all_of_it(world, random.Random(f'{seed} end'))
    leftovers.check(world, sorted(idents))


def _take(world: worlds.World, group: steps_module.Group) -> None:
    """Run the steps of a group concurrently and check the result."""
    if len(group) == 1:
        _do(world, group[0])
    else:
        with futures.ThreadPoolExecutor(len(group)) as pool:
            running = [pool.submit(_do, world, step) for step in group]
        for each in running:
            each.result()
    read = {name for step in group for name in step.names}
    if any(step.number % _ALL_READ == 0 for step in group):
        read |= world.model.volumes.keys()
    invariants.check(world, read)


def _do(world: worlds.World, step: steps_module.Step) -> None:
    world.tell(f'step {step.line()}')
    made = {'new': step.new} if step.new else {}
    try:
        steps_module.RULES[step.rule].act(world, **step.args, **made)
    except rules.Missing as missing:
        world.tell(f'left out: no {missing}')
