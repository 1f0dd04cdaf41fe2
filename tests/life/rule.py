# SPDX-License-Identifier: Apache-2.0

"""Rules, which are the operations on the resources of a sequence.

An operation is first drawn, as names and numbers that can be stored in a file,
and then run, so that a sequence can be repeated in whole or in part.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import random
from typing import Any

from tests.life import model
from tests.life import world as worlds

Args = dict[str, Any]
Draw = Callable[[model.Model, random.Random], Args | None]
Act = Callable[..., None]


class Missing(Exception):
    """The resource of a step is missing: an earlier step was skipped."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule.

    :ivar weight: the relative frequency of the rule
    :ivar draw: returns the arguments, or None if there is no resource for it
    :ivar act: runs the operation
    :ivar makes: the letter of the created resource, such as ``v`` for a volume
    """

    name: str
    weight: float
    draw: Draw
    act: Act
    makes: str = ''


def volume_of(world: worlds.World, name: str) -> model.Volume:
    """Return a volume by name.

    :raises Missing: if there is no such volume
    """
    volume = world.model.volumes.get(name)
    if volume is None:
        raise Missing(name)
    return volume
