# SPDX-License-Identifier: Apache-2.0

"""Findings of the doctor that can explain a figure."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_bench import plan
from rbd_bench import published
from rbd_bench import summary
from rbd_volume_options import cache_modes
from rbd_volume_tools.command_line import ceph_options
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.command_line import versions

Finding = findings.Finding
#: Returns whether a finding affects a combination with these values.
Affects = Callable[[Mapping[str, str]], bool]


@dataclasses.dataclass(frozen=True)
class Cause:
    """A finding, and the combinations that it affects.

    :ivar number: the number of the finding in the report, from 1
    """

    number: int
    finding: Finding
    affects: Affects


def _nothing(values: Mapping[str, str]) -> bool:
    return False


def _requests(values: Mapping[str, str]) -> bool:
    """Return whether a combination sends requests other than a deletion."""
    return plan.CACHE_MODE in values


def _cached(values: Mapping[str, str]) -> bool:
    return (
        _requests(values)
        and cache_modes.CacheMode(values[plan.CACHE_MODE]).uses_rbd_cache
    )


#: Groups of options, and the combinations that each group affects. A group
#: contains the options that the doctor compares with each other.
_OPTIONS: tuple[tuple[Affects, tuple[str, ...]], ...] = (
    (_cached, ('rbd_cache_policy', 'rbd_cache_size', 'rbd_cache_max_dirty')),
    # A combination without encryption keeps the option of the operator.
    (_requests, ('ms_client_mode',)),
    # These protect data and do not change figures.
    (_nothing, ('rbd_cache_writethrough_until_flush',)),
    (_nothing, ('rados_osd_op_timeout', 'osd_heartbeat_grace')),
)


def find(environment: Mapping[str, Any]) -> list[Cause]:
    """Return the causes in the facts about the cluster and the client.

    Facts that are missing are not checked.
    """
    causes = (
        (finding, affects)
        for finding, affects in _found(environment)
        if finding.severity is not None
    )
    return [
        Cause(number, finding, affects)
        for number, (finding, affects) in enumerate(causes, 1)
    ]


def _found(
    environment: Mapping[str, Any],
) -> Iterator[tuple[Finding, Affects]]:
    options = environment.get('options', {})
    for affects, names in _OPTIONS:
        values = {
            name: str(options[name]) for name in names if name in options
        }
        for finding in ceph_options.check('client', values):
            yield finding, affects
    pool = environment.get('pool', {})
    for finding in ceph_options.overrides(
        pool.get('name', ''), lambda: pool.get('overrides', {})
    ):
        yield finding, _requests
    if shown := environment.get('client', {}).get('rbd'):
        yield versions.check_librbd(lambda command: (0, shown, '')), _requests


def of_table(causes: Iterable[Cause], table: summary.Table) -> list[int]:
    """Return the numbers of the causes that affect a row of a table."""
    return [
        each.number
        for each in causes
        if any(each.affects(row.cell.values) for row in table.rows)
    ]


def of_published(
    causes: Iterable[Cause], compared: published.Compared
) -> list[int]:
    """Return the numbers of the causes that affect a published ratio.

    A ratio that was not measured has no causes.
    """
    if compared.ratio is None:
        return []
    return [
        each.number
        for each in causes
        if any(each.affects(cell.values) for cell in compared.cells)
    ]
