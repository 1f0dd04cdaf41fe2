# SPDX-License-Identifier: Apache-2.0

"""The results of checks."""

from collections.abc import Iterable
import dataclasses
import enum


class Severity(enum.IntEnum):
    """Severity of a finding, which is also the exit status of the command."""

    #: For information; no action is required.
    NOTICE = 0
    #: The finding wastes space or time.
    WARNING = 1
    #: Data is missing, or an operation of a tenant will fail.
    ERROR = 2


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check.

    :ivar subject: what was checked
    :ivar seen: what was found, without secrets
    :ivar severity: None if no action is required
    :ivar remedy: what an operator can do
    """

    subject: str
    seen: str
    severity: Severity | None = None
    remedy: str = ''

    @property
    def result(self) -> str:
        """The severity, or ``ok``."""
        return 'ok' if self.severity is None else self.severity.name.lower()


def notice(subject: str, seen: str, remedy: str) -> Finding:
    """Return a finding for information."""
    return Finding(subject, seen, Severity.NOTICE, remedy)


def warning(subject: str, seen: str, remedy: str) -> Finding:
    """Return a finding that wastes space or time."""
    return Finding(subject, seen, Severity.WARNING, remedy)


def error(subject: str, seen: str, remedy: str) -> Finding:
    """Return a finding by which an operation will fail."""
    return Finding(subject, seen, Severity.ERROR, remedy)


def worst(results: Iterable[Finding]) -> Severity:
    """Return the highest severity; notice if there is none."""
    return max(
        (each.severity for each in results if each.severity is not None),
        default=Severity.NOTICE,
    )
