# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""One sequence: steps drawn from a seed, or read from a file, and checks."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import json
import random
import traceback

from tests.life import attaching
from tests.life import changing
from tests.life import copying
from tests.life import creating
from tests.life import failures
from tests.life import invariants
from tests.life import leftovers
from tests.life import owning
from tests.life import purge
from tests.life import removing
from tests.life import rule as rules
from tests.life import specs
from tests.life import world as worlds

RULES: dict[str, rules.Rule] = {
    each.name: each
    for each in (
        *creating.RULES,
        *changing.RULES,
        *copying.RULES,
        *attaching.RULES,
        *owning.RULES,
        *removing.RULES,
        *specs.RULES,
    )
}
_TRIES = 20
# Steps after which the content of all volumes is read.
_ALL_READ = 6


@dataclasses.dataclass(frozen=True)
class Step:
    """What is done, to what; as a line of a file, in JSON."""

    number: int
    rule: str
    args: rules.Args

    def line(self) -> str:
        """Return it as a line."""
        return json.dumps([self.number, self.rule, self.args])

    @classmethod
    def of(cls, line: str) -> Step:
        """Return the step that a line holds."""
        number, name, args = json.loads(line)
        return cls(number, name, args)


@dataclasses.dataclass
class Result:
    """What came of a sequence."""

    steps: list[Step] = dataclasses.field(default_factory=list)
    violations: list[failures.Violation] = dataclasses.field(
        default_factory=list
    )


def drawn(world: worlds.World, seed: str, count: int) -> Iterator[Step]:
    """Draw a sequence's steps, each once the ones before it are done."""
    rng = random.Random(seed)
    all_of_them = list(RULES.values())
    weights = [each.weight for each in all_of_them]
    for number in range(1, count + 1):
        for _ in range(_TRIES):
            (chosen,) = rng.choices(all_of_them, weights)
            args = chosen.draw(world.model, rng)
            if args is not None:
                yield Step(number, chosen.name, args)
                break


def run(
    world: worlds.World, steps: Iterator[Step] | Sequence[Step], seed: str
) -> Result:
    """Run a sequence, with all checks; leave nothing."""
    result = Result()
    ended = None
    idents: set[str] = set()
    try:
        for step in steps:
            result.steps.append(step)
            world.tell(f'step {step.line()}')
            _take(world, step)
            idents |= {v.ident for v in world.model.volumes.values()}
            idents |= {i.ident for i in world.model.images.values()}
        world.tell('end: delete all')
        removing.all_of_it(world, random.Random(f'{seed} end'))
        leftovers.check(world, sorted(idents))
    except failures.Violation as violation:
        ended = violation
    except Exception as error:
        world.tell(traceback.format_exc())
        ended = failures.Violation('broken-test', repr(error))
    result.violations = [*world.found, *([ended] if ended else [])]
    if result.violations:
        try:
            purge.sequence(world)
        except Exception as error:
            world.tell(f'cannot clean up: {error!r}')
    return result


def _take(world: worlds.World, step: Step) -> None:
    chosen = RULES[step.rule]
    args = dict(step.args)
    if chosen.makes:
        args['new'] = f'{chosen.makes}{step.number}'
    try:
        chosen.act(world, **args)
    except rules.Missing as missing:
        world.tell(f'left out: no {missing}')
        return
    read = {each for each in args.values() if isinstance(each, str)}
    if step.number % _ALL_READ == 0:
        read |= world.model.volumes.keys()
    invariants.check(world, read)
