#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Plans removals for the findings of an audit."""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
from typing import Any

from rbd_operator.audit import findings
from rbd_operator.audit import names
from rbd_operator.audit import records
from rbd_operator.audit import report
from rbd_operator.maintenance import kinds
from rbd_operator.maintenance import outcomes
from rbd_operator.maintenance import removal

FOREIGN = outcomes.Reason(
    'foreign-pool',
    'the pool has no image of this cloud of that kind, and may belong to '
    'another cloud',
    'Check the pool and the credentials; remove the image by hand.',
)


def planned(
    found: report.Report,
    known: records.Records,
    wanted: frozenset[findings.Kind],
    librados: Any,
    librbd: Any,
    rules: removal.Rules,
    has_record: removal.HasRecord,
) -> Iterator[removal.Removal | outcomes.Outcome]:
    """Yield the removal of each finding, or the reason against it.

    :param wanted: kinds of findings
    :param has_record: returns whether the cloud has a resource at this moment
    """
    ours = _ours(found, known)
    idents = _idents(found)
    for each in found.found:
        if each.kind not in wanted:
            continue
        about = _about(each, idents)
        owner = kinds.ORPHANS.get(each.kind)
        if reason := kinds.refusal(each.kind):
            yield about.refused(outcomes.Refused(reason))
        elif owner and (each.pool, owner) not in ours:
            yield about.refused(outcomes.Refused(FOREIGN))
        else:
            way = kinds.WAYS[each.kind]
            about = dataclasses.replace(
                about, status=outcomes.Status.PLANNED, detail=way.value
            )
            yield removal.Removal(
                about, each.kind, librados, librbd, rules, has_record
            )


def _about(
    found: findings.Finding, idents: dict[tuple[str, str], str]
) -> outcomes.Outcome:
    image = found.image.partition('@')[0]
    ident = idents.get((found.pool, image), '')
    if found.kind is findings.IN_TRASH:
        # The audit puts the ID first, because several images in the trash may
        # have the same name.
        ident = found.detail.partition(',')[0]
    return outcomes.Outcome(
        outcomes.Status.UNCHANGED,
        found.pool,
        found.image,
        ident,
        volume=found.volume,
        project=found.project,
    )


def _idents(found: report.Report) -> dict[tuple[str, str], str]:
    return {
        (image.pool, image.name): image.ident
        for scanned in found.scans
        for image in scanned.found
    }


def _ours(
    found: report.Report, known: records.Records
) -> set[tuple[str, names.Owner]]:
    """Return which kinds of images each pool contains for this cloud."""
    idents: dict[names.Owner, Iterable[str]] = {
        names.Owner.VOLUME: known.volumes,
        names.Owner.GLANCE_IMAGE: known.images or (),
        names.Owner.SERVER_DISK: known.servers or (),
    }
    there = set()
    for scanned in found.scans:
        for image in scanned.found:
            name = names.of_image(image.name)
            if name.ident in idents.get(name.owner, ()):
                there.add((scanned.pool, name.owner))
    return there
