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

"""The state of an RBD image, as a value."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class State:
    """The state of an RBD image; sizes are in bytes."""

    size: int
    object_size: int
    stripe_unit: int
    stripe_count: int
    features: frozenset[str]
    data_pool: str | None
    flags: int

    @property
    def layout(self) -> tuple[int, int, int]:
        """Object size, stripe unit and stripe count."""
        return self.object_size, self.stripe_unit, self.stripe_count
