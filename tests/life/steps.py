# SPDX-License-Identifier: Apache-2.0

"""Steps: random or read from a file, sequential or parallel."""

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
#: At first, few rules apply, so many tries are needed.
_TRIES = 200
#: Probability that a step runs in parallel with another one.
_BESIDE = 0.25
_MARK = 'beside'
#: Rules that do not change their resources: two of them may use the same
#: resource in parallel.
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
    """A rule and its arguments, written as a line of JSON.

    :ivar beside: whether the step runs in parallel with the previous one
    """

    number: int
    rule: str
    args: rules.Args
    beside: bool = False

    def line(self) -> str:
        """Return the step as a line of JSON."""
        mark = [_MARK] if self.beside else []
        return json.dumps([self.number, self.rule, self.args, *mark])

    @classmethod
    def of(cls, line: str) -> Step:
        """Parse a step from a line of JSON."""
        number, name, args, *mark = json.loads(line)
        return cls(number, name, args, bool(mark))

    @property
    def new(self) -> str:
        """The name of the resource to create; empty if there is none."""
        makes = RULES[self.rule].makes
        return f'{makes}{self.number}' if makes else ''

    @property
    def names(self) -> set[str]:
        """The names of the resources that the step creates or uses."""
        values = {v for v in self.args.values() if isinstance(v, str)}
        return {*values, self.new}


Group = list[Step]


def grouped(steps: Iterable[Step]) -> list[Group]:
    """Group steps that run in parallel."""
    groups: list[Group] = []
    for step in steps:
        if step.beside and groups:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def drawn(known: model.Model, seed: str, count: int) -> Iterator[Group]:
    """Draw the steps of a sequence, each after the previous ones ran."""
    rng = random.Random(seed)
    number = 1
    while number <= count:
        first = _draw(known, rng, number)
        if first is None:
            return
        group = [first]
        if rng.random() < _BESIDE:
            second = _draw(known, rng, number + 1)
            if second and are_apart(known, first, second):
                group.append(dataclasses.replace(second, beside=True))
        number += len(group)
        yield group


def _draw(known: model.Model, rng: random.Random, number: int) -> Step | None:
    all_of_them = list(RULES.values())
    weights = [each.weight for each in all_of_them]
    for _ in range(_TRIES):
        (chosen,) = rng.choices(all_of_them, weights)
        args = chosen.draw(known, rng)
        if args is not None:
            return Step(number, chosen.name, args)
    return None


def are_apart(known: model.Model, first: Step, second: Step) -> bool:
    """Return whether two steps can run in parallel independently."""
    if {first.rule, second.rule} <= _READERS:
        return True
    return not _about(known, first) & _about(known, second)


def _about(known: model.Model, step: Step) -> set[str]:
    """Return the names of existing resources that a step uses."""
    names = {name for name in step.names if name in _named(known)}
    for name in list(names):
        if snapshot := known.snapshots.get(name):
            names.add(snapshot.volume)
        if transfer := known.transfers.get(name):
            names.add(transfer.volume)
    return names


def _named(known: model.Model) -> set[str]:
    return {
        *known.volumes,
        *known.snapshots,
        *known.backups,
        *known.images,
        *known.transfers,
        *known.strays,
    }
