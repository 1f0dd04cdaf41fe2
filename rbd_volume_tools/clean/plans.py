# SPDX-License-Identifier: Apache-2.0

"""Plans of removals: made from an audit, kept in a file, read by a person.

The file has one JSON object per line, so that a person can delete lines. The
first line says what the plan applies to. Each other line is an item with a
seal: an item that was changed, or copied from another plan, is refused. The
seal is a checksum, against accidents: whoever writes the file can make it.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import fnmatch
import hashlib
import json
from typing import Any

from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import report
from rbd_volume_tools.clean import examination
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import outcomes

VERSION = 1

LIMITED = outcomes.Reason(
    'limit',
    'the plan already has as many items as --limit allows',
    'Apply this plan, then make another one.',
)


class PlanError(Exception):
    """A file is no plan, or one that cannot be applied here."""


@dataclasses.dataclass(frozen=True)
class Header:
    """What a plan applies to.

    :ivar cluster: fsid of the Ceph cluster
    :ivar cloud: URL of Keystone
    :ivar region: region of the services
    :ivar cloud_id: id in the marks of this cloud; empty without one
    :ivar taken: time of the plan
    :ivar delay: seconds for which images stay in the trash
    :ivar older_than: minimum seconds since the last sign of life
    """

    cluster: str
    cloud: str
    region: str
    cloud_id: str
    taken: str
    delay: float
    older_than: float
    cinder_config: str = ''
    glance_config: str = ''
    version: int = VERSION


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
    librbd, librados = examiner.cluster.librbd, examiner.cluster.librados
    image = finding.pool, finding.image, finding.ident
    about = outcomes.Outcome(
        outcomes.Status.UNCHANGED,
        *image,
        volume=finding.volume,
        project=finding.project,
    )
    try:
        try:
            item = examiner.examine(ioctx, finding.kind, *image)
        except librbd.ImageNotFound:
            if not objects.is_gone(librados, ioctx, *image):
                raise
            return dataclasses.replace(about, detail='deleted since the scan')
        return removal.Removal(item, examiner)
    except outcomes.Refused as error:
        refused = about.refused(error)
        if error.reason is evidence.UNKNOWN:
            return dataclasses.replace(refused, status=outcomes.Status.UNKNOWN)
        return refused
    except (librbd.Error, librados.Error, *outcomes.OF_ONE_IMAGE) as error:
        return dataclasses.replace(
            about, status=outcomes.Status.FAILED, detail=str(error)
        )


def text(header: Header, items: Iterable[examination.Item]) -> str:
    """Return a plan as the content of a file."""
    first = _line(dataclasses.asdict(header))
    return '\n'.join(
        [first, *(_sealed(first, dataclasses.asdict(x)) for x in items), '']
    )


def parsed(content: str) -> tuple[Header, list[examination.Item]]:
    """Return the plan in the content of a file.

    :raises PlanError: if it is none, or an item was changed
    """
    first, *lines = [
        line for line in content.splitlines() if line.strip()
    ] or ('',)
    try:
        header = Header(**json.loads(first))
    except (RecursionError, TypeError, ValueError) as error:
        raise PlanError(
            f'The first line is not that of a plan: {error}. Give the file '
            'that clean plan has written.'
        ) from error
    if header.version != VERSION:
        raise PlanError(
            f'The plan has version {header.version}, not {VERSION}. Make a '
            'new plan.'
        )
    items = []
    for number, line in enumerate(lines, 2):
        try:
            values = json.loads(line)
            values.pop('seal')
            if _sealed(first, values) != line:
                raise ValueError('it does not have its seal')
            values['snapshots'] = tuple(values['snapshots'])
            items.append(examination.Item(**values))
        except (
            *(AttributeError, KeyError, RecursionError),
            *(TypeError, ValueError),
        ) as error:
            raise PlanError(
                f'Line {number} was changed: {error}. Lines of a plan can be '
                'deleted, but not changed.'
            ) from error
    return header, items


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


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _sealed(first: str, values: Mapping[str, Any]) -> str:
    seal = hashlib.sha256(f'{first}\n{_line(values)}'.encode()).hexdigest()
    return _line({**values, 'seal': seal[:16]})
