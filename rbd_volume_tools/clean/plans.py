# SPDX-License-Identifier: Apache-2.0

"""The selection of leftovers for a plan, and the file of approvals."""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import fnmatch
from typing import Any

from rbd_volume_tools.audit import changes
from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import report
from rbd_volume_tools.clean import examination
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import outcomes

LIMITED = outcomes.Reason(
    'limit',
    'the plan already has as many items as --limit allows',
    'Apply this plan, then make another one.',
)


@dataclasses.dataclass(frozen=True)
class Filter:
    """The findings that an operator selects.

    :ivar kinds: codes of kinds; empty for all that can be removed
    :ivar patterns: of names, with ``*`` and ``?``; empty for all
    :ivar projects: ids; empty for all
    :ivar limit: maximum number of items
    """

    kinds: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    projects: frozenset[str] = frozenset()
    limit: int = 100

    def has(self, finding: findings.Finding) -> bool:
        """Return whether a finding is selected."""
        kinds = self.kinds or {kind.code for kind in leftovers.TABLE}
        if finding.kind.code not in kinds:
            return False
        return not self.patterns or any(
            fnmatch.fnmatchcase(finding.image, each) for each in self.patterns
        )


def made(
    audited: report.Report, wanted: Filter, examiner: examination.Examiner
) -> Iterator[removal.Removal | outcomes.Outcome]:
    """Yield the removal of each selected finding, or the reason against it."""
    by_pool: dict[str, list[findings.Finding]] = {}
    for each in audited.found:
        if wanted.has(each):
            by_pool.setdefault(each.pool, []).append(each)
    left = wanted.limit
    for pool, chosen in by_pool.items():
        with examiner.cluster.connected(pool) as (_, ioctx):
            for each in chosen:
                examined = _examined(each, examiner, ioctx)
                if isinstance(examined, removal.Removal):
                    project = examined.item.project
                    if wanted.projects and project not in wanted.projects:
                        continue
                    if not left:
                        yield examined.outcome.refused(
                            outcomes.Refused(LIMITED)
                        )
                        continue
                    left -= 1
                yield examined


def _examined(
    finding: findings.Finding, examiner: examination.Examiner, ioctx: Any
) -> removal.Removal | outcomes.Outcome:
    about = outcomes.Outcome(
        *(outcomes.Status.UNCHANGED, finding.pool, finding.image),
        finding.ident,
        volume=finding.volume,
        project=finding.project,
    )
    items: list[examination.Item] = []

    def examine() -> str:
        items.append(examiner.examine(ioctx, finding.kind, *about.key))
        return ''

    outcome = changes.attempted(examiner.cluster, ioctx, about, examine)
    if items:
        return removal.Removal(items[0], examiner)
    if outcome.code == evidence.UNKNOWN.code:
        return dataclasses.replace(outcome, status=outcomes.Status.UNKNOWN)
    return outcome


def approved(items: Iterable[examination.Item]) -> frozenset[str]:
    """Return the images that the operator listed when the plan was made."""
    return frozenset(
        f'{each.pool}/{each.ident}'
        for each in items
        if each.proof == evidence.APPROVED
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
