# SPDX-License-Identifier: Apache-2.0

"""The report of an audit: counts, findings, and all of it as JSON."""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import datetime
import json
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan


@dataclasses.dataclass(frozen=True)
class Count:
    """Number and size of the images with the same values.

    :ivar pool: Ceph pool
    :ivar owner: what the images belong to
    :ivar volume_type: name of the volume type; empty if unknown
    :ivar map_state: state of the object map of the head
    :ivar number: of images
    :ivar size: provisioned bytes
    :ivar used: bytes that these images use; None if no usage is known
    """

    pool: str
    owner: names.Owner
    volume_type: str
    map_state: images.MapState
    number: int
    size: int
    used: int | None = None


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of an audit.

    :ivar taken: the time when the audit began
    :ivar seconds: duration of the audit
    :ivar scans: the pools
    :ivar found: the findings, the most severe first
    :ivar known: the cloud's records; None if it was not asked
    """

    taken: datetime.datetime
    seconds: float
    scans: tuple[scan.PoolScan, ...]
    found: tuple[findings.Finding, ...]
    counts: tuple[Count, ...]
    known: records.Records | None = None

    @property
    def severity(self) -> findings.Severity:
        """The highest severity of the findings; notice if there are none."""
        severities = [each.kind.severity for each in self.found]
        return max(severities, default=findings.Severity.NOTICE)

    @property
    def is_complete(self) -> bool:
        """Whether everything could be read."""
        return not any(
            each.kind in (findings.FORBIDDEN, findings.POOL_FAILED)
            for each in self.found
        )

    @property
    def number(self) -> int:
        """Number of images that were read."""
        return sum(len(each.found) for each in self.scans)

    def volume_of(self, image: images.Image) -> records.Volume | None:
        """Return the volume with the ID in the name of an image, if known."""
        return _volume_of(image, self.known)

    def type_of(self, image: images.Image) -> str:
        """Return the name of the volume type of an image; empty if unknown."""
        return _type_of(image, self.known)

    def as_json(self) -> Iterator[str]:
        """Yield the report as JSON, in parts; sizes are in bytes.

        A cloud can have so many images that they are in memory only once.
        """
        yield '{\n'
        for name, value in self._plain().items():
            yield f'"{name}": {json.dumps(value, indent=1)},\n'
        yield '"images": [\n'
        separator = ''
        for each in self.scans:
            for image in each.found:
                volume = self.volume_of(image)
                yield f'{separator}{json.dumps(_plain_image(image, volume))}'
                separator = ',\n'
        yield '\n]\n}\n'

    def _plain(self) -> dict[str, Any]:
        """Return the report as plain values, without the images."""
        return {
            'version': 1,
            'taken': self.taken.isoformat(),
            'seconds': round(self.seconds, 3),
            'counts': [
                {
                    **dataclasses.asdict(each),
                    'owner': each.owner.value,
                    'map_state': each.map_state.value,
                }
                for each in self.counts
            ],
            'findings': [_plain_finding(each) for each in self.found],
        }


def make(
    taken: datetime.datetime,
    seconds: float,
    scans: Iterable[scan.PoolScan],
    problems: Iterable[findings.Finding],
    known: records.Records | None,
) -> Report:
    """Return the report on scans and their findings."""
    scanned = tuple(scans)
    ordered = sorted(
        problems,
        key=lambda each: (
            -each.kind.severity,
            each.kind.code,
            each.pool,
            each.image,
        ),
    )
    return Report(
        taken,
        seconds,
        scanned,
        tuple(ordered),
        tuple(_counts(scanned, known)),
        known,
    )


def _counts(
    scans: Iterable[scan.PoolScan], known: records.Records | None
) -> list[Count]:
    groups: dict[
        tuple[str, names.Owner, str, images.MapState], list[images.Image]
    ] = {}
    for each in scans:
        for image in each.found:
            key = (
                each.pool,
                names.of_image(image.name).owner,
                _type_of(image, known),
                image.map_state,
            )
            groups.setdefault(key, []).append(image)
    return [
        Count(
            *key,
            len(groups[key]),
            sum(image.size for image in groups[key]),
            _used(groups[key]),
        )
        for key in sorted(
            groups, key=lambda k: (k[0], k[1].value, k[2], k[3].value)
        )
    ]


def _volume_of(
    image: images.Image, known: records.Records | None
) -> records.Volume | None:
    ident = names.of_image(image.name).ident
    return known.volumes.get(ident) if known else None


def _type_of(image: images.Image, known: records.Records | None) -> str:
    volume = _volume_of(image, known)
    return volume.volume_type if volume else ''


def _used(group: Iterable[images.Image]) -> int | None:
    known = [image.used for image in group if image.used is not None]
    return sum(known) if known else None


def _plain_finding(finding: findings.Finding) -> dict[str, Any]:
    return {
        'kind': finding.kind.code,
        'severity': finding.kind.severity.name.lower(),
        'pool': finding.pool,
        'image': finding.image,
        'detail': finding.detail,
        'volume': finding.volume,
        'project': finding.project,
        'remedy': finding.kind.remedy,
    }


def _plain_image(
    image: images.Image, volume: records.Volume | None
) -> dict[str, Any]:
    made = image.image_layout
    attributes = volume.made if volume else {}
    return {
        'pool': image.pool,
        'name': image.name,
        'volume': volume.ident if volume else '',
        'sector_size': attributes.get(definitions.ATTRIBUTE_SECTOR_SIZE),
        'id': image.ident,
        'size': image.size,
        'used': image.used,
        'object_size': made.object_size,
        'stripe_unit': made.stripe_unit,
        'stripe_count': made.stripe_count,
        'features': sorted(image.image_features),
        'data_pool': image.data_pool,
        'object_map': image.map_state.value,
        'parent': image.parent,
        'snapshots': [
            {
                'name': each.name,
                'namespace': each.namespace,
                'object_map': each.map_state.value,
                'children': len(each.children),
            }
            for each in image.snapshots
        ],
        'overrides': dict(image.overrides),
        # Without a valid map, librbd visits each object to delete the image.
        'objects_to_visit_on_deletion': (
            0 if image.map_state is images.MapState.VALID else image.objects
        ),
    }
