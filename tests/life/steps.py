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

"""Steps: drawn from a seed or read from a file, alone or side by side."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import json
import random

from tests.life import attaching
from tests.life import changing
from tests.life import copying
from tests.life import creating
from tests.life import model
from tests.life import owning
from tests.life import removing
from tests.life import rule as rules
from tests.life import specs

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
#: A sequence begins with few rules that find something to do.
_TRIES = 200
#: How often a step has another one beside it.
_BESIDE = 0.25
_MARK = 'beside'
#: Rules that leave what they are about as it is: two of them may be about one
#: thing at the same time.
_READERS = frozenset(
    {
        'create from snapshot',
        'create from volume',
        'create from image',
        'snapshot',
    }
)


@dataclasses.dataclass(frozen=True)
class Step:
    """What is done, to what; as a line of a file, in JSON.

    :ivar beside: whether it is done while the one before it is
    """

    number: int
    rule: str
    args: rules.Args
    beside: bool = False

    def line(self) -> str:
        """Return it as a line."""
        mark = [_MARK] if self.beside else []
        return json.dumps([self.number, self.rule, self.args, *mark])

    @classmethod
    def of(cls, line: str) -> Step:
        """Return the step that a line holds."""
        number, name, args, *mark = json.loads(line)
        return cls(number, name, args, bool(mark))

    @property
    def new(self) -> str:
        """The name of what it makes; empty where it makes nothing."""
        makes = RULES[self.rule].makes
        return f'{makes}{self.number}' if makes else ''

    @property
    def names(self) -> set[str]:
        """The names of all that it is about."""
        values = {v for v in self.args.values() if isinstance(v, str)}
        return {*values, self.new}


Group = list[Step]


def grouped(steps: Iterable[Step]) -> list[Group]:
    """Return steps with those that are done beside one in its group."""
    groups: list[Group] = []
    for step in steps:
        if step.beside and groups:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def drawn(there: model.Model, seed: str, count: int) -> Iterator[Group]:
    """Draw a sequence's steps, each once the ones before it are done."""
    rng = random.Random(seed)
    number = 1
    while number <= count:
        first = _draw(there, rng, number)
        if first is None:
            return
        group = [first]
        if rng.random() < _BESIDE:
            second = _draw(there, rng, number + 1)
            if second and are_apart(there, first, second):
                group.append(dataclasses.replace(second, beside=True))
        number += len(group)
        yield group


def _draw(there: model.Model, rng: random.Random, number: int) -> Step | None:
    all_of_them = list(RULES.values())
    weights = [each.weight for each in all_of_them]
    for _ in range(_TRIES):
        (chosen,) = rng.choices(all_of_them, weights)
        args = chosen.draw(there, rng)
        if args is not None:
            return Step(number, chosen.name, args)
    return None


def are_apart(there: model.Model, first: Step, second: Step) -> bool:
    """Whether two steps can be done at a time and judged one by one."""
    if {first.rule, second.rule} <= _READERS:
        return True
    return not _about(there, first) & _about(there, second)


def _about(there: model.Model, step: Step) -> set[str]:
    """Return the names of volumes and others that a step changes or uses."""
    found = {name for name in step.names if name in _named(there)}
    for name in list(found):
        if snapshot := there.snapshots.get(name):
            found.add(snapshot.volume)
        if transfer := there.transfers.get(name):
            found.add(transfer.volume)
    return found


def _named(there: model.Model) -> set[str]:
    return {
        *there.volumes,
        *there.snapshots,
        *there.backups,
        *there.images,
        *there.transfers,
        *there.strays,
    }
