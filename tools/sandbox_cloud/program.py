# SPDX-License-Identifier: Apache-2.0

"""A process of the cloud, as the supervisor runs it."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Program:
    """A process under the supervisor."""

    name: str
    command: tuple[str, ...]
    environ: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Its configuration files: it is restarted when they change.
    inputs: tuple[pathlib.Path, ...] = ()
    #: Whether it imports our distribution, and is restarted when this changes.
    loads_suite: bool = False
