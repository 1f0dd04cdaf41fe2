# SPDX-License-Identifier: Apache-2.0

"""The selection of leftovers for a plan, and the file of approvals."""

from collections.abc import Collection
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import fnmatch
from typing import Any

from rbd_volume_tools.audit import changes
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import report
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import outcomes

KINDS = frozenset(each.code for each in leftovers.TABLE)
LIMITED = outcomes.Reason(
    'limit',
    'the plan already has as many items as --limit allows',
    'Apply this plan, then make another one.',
)


def made(
    audited: report.Report,
    sources: evidence.Sources,
    kinds: Container[str] = KINDS,
    patterns: Collection[str] = (),
    projects: Collection[str] = (),
    limit: int = 100,
) -> Iterator[removal.Removal | outcomes.Outcome]:
    """Yield the removal of each selected finding, or the reason against it.

    :param kinds: codes of kinds
    :param patterns: of names, with ``*`` and ``?``; empty for all
    :param projects: ids; empty for all
    :param limit: maximum number of removals
    """
    by_pool: dict[str, list[findings.Finding]] = {}
    for each in audited.found:
        is_named = not patterns or any(
            fnmatch.fnmatchcase(each.image, pattern) for pattern in patterns
        )
        if each.kind.code in kinds and is_named:
            by_pool.setdefault(each.pool, []).append(each)
    for pool, chosen in by_pool.items():
        with sources.cluster.connected(pool) as (_, ioctx):
            for each in chosen:
                examined = _examined(each, sources, ioctx)
                if isinstance(examined, removal.Removal):
                    if projects and examined.item.project not in projects:
                        continue
                    if not limit:
                        yield examined.outcome.refused(
                            outcomes.Refused(LIMITED)
                        )
                        continue
                    limit -= 1
                yield examined


def _examined(
    finding: findings.Finding, sources: evidence.Sources, ioctx: Any
) -> removal.Removal | outcomes.Outcome:
    about = outcomes.Outcome(
        *(outcomes.Status.UNCHANGED, finding.pool, finding.image),
        finding.ident,
        volume=finding.volume,
        project=finding.project,
    )
    items: list[removal.Item] = []

    def examine() -> str:
        items.append(removal.examine(sources, ioctx, finding.kind, *about.key))
        return ''

    outcome = changes.attempted(sources.cluster, ioctx, about, examine)
    if items:
        return removal.Removal(items[0], sources)
    if outcome.code == leftovers.UNKNOWN.code:
        return dataclasses.replace(outcome, status=outcomes.Status.UNKNOWN)
    return outcome


def approved(items: Iterable[removal.Item]) -> frozenset[str]:
    """Return the images that the operator listed when the plan was made."""
    return frozenset(
        f'{each.pool}/{each.ident}'
        for each in items
        if each.proof == leftovers.APPROVED
    )


def approvals(content: str) -> frozenset[str]:
    """Return the images in a file of approvals: ``<pool>/<id>`` in a line.

    :raises ValueError: for another line
    """
    images = set()
    for number, line in enumerate(content.splitlines(), 1):
        word = line.partition('#')[0].strip()
        if not word:
            continue
        pool, _, ident = word.partition('/')
        if not (pool and ident.isalnum()):
            raise ValueError(
                f'Line {number} of the approvals: {word!r} is not '
                '<pool>/<id of an image>.'
            )
        images.add(word)
    return frozenset(images)
