# SPDX-License-Identifier: Apache-2.0

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
