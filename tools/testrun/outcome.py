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

"""What a check, a part or the whole run came to."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import re

_LINE = re.compile(r'(\d+) passed, (\d+) failed, (\d+) skipped')


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How many passed, failed and were skipped; outcomes add up."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    #: Of those that failed, the names, each with its cause, where known.
    failures: Sequence[str] = dataclasses.field(default=(), compare=False)

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            (*self.failures, *other.failures),
        )

    @property
    def ran(self) -> int:
        """Tests that said something; a skipped one didn't."""
        return self.passed + self.failed

    @classmethod
    def of(cls, text: str) -> Outcome | None:
        """Return what a run's last line says, None of any other text."""
        if not (found := _LINE.fullmatch(text.strip())):
            return None
        passed, failed, skipped = (int(number) for number in found.groups())
        return cls(passed, failed, skipped)

    def __str__(self) -> str:
        return (
            f'{self.passed} passed, {self.failed} failed, '
            f'{self.skipped} skipped'
        )


PASSED = Outcome(passed=1)
FAILED = Outcome(failed=1)
