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

"""A rule: something that may be done to the resources of a sequence.

What is to be done is drawn first, as names and numbers that a file can hold,
and done then: so that a sequence can be done again, in whole or in part.
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
    """What a step is about isn't there: a step before it was left out."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """One of them.

    :ivar weight: how often it is taken, against the others
    :ivar draw: returns what to do, None where there is nothing to do it to
    :ivar act: does it
    :ivar makes: the letter of what it makes, as ``v`` for a volume
    """

    name: str
    weight: float
    draw: Draw
    act: Act
    makes: str = ''


def volume_of(world: worlds.World, name: str) -> model.Volume:
    """Return a volume that can be worked with.

    :raises Missing: where there is none
    """
    volume = world.model.volumes.get(name)
    if volume is None:
        raise Missing(name)
    return volume
