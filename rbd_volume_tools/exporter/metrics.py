# SPDX-License-Identifier: Apache-2.0

"""The metrics, and their values in the report of an audit.

The number of time series is limited: pools and kinds of findings are few, and
volume types beyond :data:`MAX_TYPES` and projects beyond :data:`MAX_PROJECTS`
share one label. The table of images, which has no limit, is optional.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import operator

from rbd_volume_options import compute_hosts
from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_tools.audit import configuration
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import report

#: Number of volume types with their own label: those with the most images.
MAX_TYPES = 50

#: Number of projects with their own label: those with the most bytes.
MAX_PROJECTS = 200

#: Returns the label of a volume type or a project.
_Label = Callable[[str], str]

#: Value of the label "blocked_by" during the delay of an image in the trash.
DELAY = 'delay'

#: Label of the other volume types and projects. If a volume type had this
#: name, its numbers would be added to those of the others.
OTHER_TYPES = '(other)'


@dataclasses.dataclass(frozen=True)
class Metric:
    """A gauge.

    :ivar name: stable name; dashboards and alerts use it
    :ivar text: help text
    :ivar labels: names of the labels
    :ivar joined: how the values of several images with the same labels become
        one
    """

    name: str
    text: str
    labels: tuple[str, ...] = ()
    joined: Callable[[float, float], float] = operator.add


UP = Metric('rbd_audit_up', 'Whether the last audit succeeded')
SUCCEEDED = Metric(
    'rbd_audit_last_success_timestamp_seconds',
    'Time at which the last successful audit began',
)
AGE = Metric(
    'rbd_audit_age_seconds',
    'Age of the last successful audit; only from the server',
)
DURATION = Metric(
    'rbd_audit_duration_seconds', 'Duration of the last successful audit'
)
IMAGES = Metric(
    'rbd_audit_images',
    'Number of RBD images',
    ('pool', 'owner', 'volume_type', 'object_map'),
)
PROVISIONED = Metric(
    'rbd_audit_provisioned_bytes',
    'Provisioned size of RBD images',
    ('pool', 'owner', 'volume_type', 'object_map'),
)
SNAPSHOTS = Metric(
    'rbd_audit_snapshots',
    'Number of snapshots of RBD images',
    ('pool', 'object_map'),
)
DELETION = Metric(
    'rbd_audit_deletion_objects',
    'Objects that librbd would visit to delete the RBD images that have no '
    'valid object map',
    ('pool', 'owner'),
)
TRASH = Metric('rbd_audit_trash_images', 'RBD images in the trash', ('pool',))
WAITING = Metric(
    'rbd_audit_removals_waiting_images',
    'RBD images in the trash that the driver will remove, by what it waits '
    'for; blocked_by is empty for its turn',
    ('pool', 'project', 'blocked_by'),
)
WAITING_BYTES = Metric(
    'rbd_audit_removals_waiting_bytes',
    'Provisioned size of these RBD images',
    ('pool', 'project', 'blocked_by'),
)
WAITING_SINCE = Metric(
    'rbd_audit_removals_waiting_since_timestamp_seconds',
    'Time at which the oldest of these RBD images could be removed',
    ('pool', 'project', 'blocked_by'),
    min,
)
LIMITED = Metric(
    'rbd_audit_limited_images',
    'Number of RBD images with a limit on reads and writes',
    ('pool', 'volume_type', 'limit'),
)
LIMITS = Metric(
    'rbd_audit_limits_per_second',
    'Sum of these limits, in requests or bytes per second',
    ('pool', 'volume_type', 'limit'),
)
USAGE_PROVISIONED = Metric(
    'rbd_audit_usage_provisioned_bytes',
    'Provisioned size of the RBD images of a project',
    ('pool', 'volume_type', 'project'),
)
USAGE_USED = Metric(
    'rbd_audit_usage_used_bytes',
    'Bytes that these images and their snapshots use, as far as known',
    ('pool', 'volume_type', 'project'),
)
USAGE_UNKNOWN = Metric(
    'rbd_audit_usage_unknown_images',
    'Number of these images whose used bytes are unknown, because they have '
    'no valid fast-diff map',
    ('pool', 'volume_type', 'project'),
)
ATTACHMENTS = Metric(
    'rbd_audit_attachments',
    'Number of attachments that request a cache mode, by what the compute '
    'host does: promise_broken can lose writes that the mode keeps',
    ('state',),
)
IMAGE_INFO = Metric(
    'rbd_audit_image_info',
    'Always 1; volume and project of an RBD image, to join with the metrics '
    'that Ceph has of each image',
    ('pool', 'image', 'volume', 'project'),
)
FINDINGS = Metric(
    'rbd_audit_findings',
    'Number of findings',
    ('pool', 'kind', 'severity'),
)

#: All metrics above.
METRICS = tuple(
    each for each in tuple(globals().values()) if isinstance(each, Metric)
)


class Values(dict[tuple[Metric, tuple[str, ...]], float]):
    """Values of metrics, by the values of their labels."""

    def add(self, metric: Metric, value: float, *labels: str) -> None:
        """Add what one image, entry of the trash or finding has."""
        before = self.get((metric, labels))
        self[metric, labels] = (
            value if before is None else metric.joined(before, value)
        )


def of_report(
    audited: report.Report, has_usage: bool = False, has_images: bool = False
) -> Values:
    """Return the values of a report.

    :param has_usage: whether with the bytes of each project
    :param has_images: whether with the table of images
    """
    values = Values()
    values.add(SUCCEEDED, audited.taken.timestamp())
    values.add(DURATION, audited.seconds)
    numbers: collections.Counter[str] = collections.Counter()
    sizes: collections.Counter[str] = collections.Counter()
    for image in _images(audited):
        numbers[audited.type_of(image)] += 1
        sizes[_project(audited, image)] += image.size
    type_of = _limited(numbers, MAX_TYPES)
    project_of = _limited(sizes, MAX_PROJECTS)
    for each in audited.scans:
        # Nothing is known about another pool; 0 would be wrong.
        if not each.is_forbidden:
            for state in images.MapState:
                values.add(SNAPSHOTS, 0, each.pool, state.value)
            values.add(TRASH, len(each.trash), each.pool)
    for image in _images(audited):
        volume_type = type_of(audited.type_of(image))
        _add_image(values, image, volume_type)
        volume = audited.volume_of(image)
        if has_usage:
            project = project_of(_project(audited, image))
            _add_usage(values, image, volume_type, project)
        if has_images and volume:
            labels = image.pool, image.name, volume.ident, volume.project
            values.add(IMAGE_INFO, 1, *labels)
    _add_removals(values, audited)
    _add_findings(values, audited)
    _add_attachments(values, audited)
    return values


def _limited(sizes: collections.Counter[str], most: int) -> _Label:
    """Return the function that returns the name itself for the largest.

    An empty name keeps its own label.
    """
    ordered = sorted(filter(None, sizes), key=lambda x: (-sizes[x], x))
    shown = {'', *ordered[:most]}
    return lambda name: name if name in shown else OTHER_TYPES


def _images(audited: report.Report) -> Iterator[images.Image]:
    for each in audited.scans:
        yield from each.found


def _project(audited: report.Report, image: images.Image) -> str:
    """Return the project of an image; empty without a volume."""
    volume = audited.volume_of(image)
    return volume.project if volume else ''


def _add_image(values: Values, image: images.Image, volume_type: str) -> None:
    """Add what is known of an image, and the limits that its clients apply."""
    pool, state = image.pool, image.map_state
    owner = names.of_image(image.name).owner.name.lower()
    values.add(IMAGES, 1, pool, owner, volume_type, state.value)
    values.add(PROVISIONED, image.size, pool, owner, volume_type, state.value)
    if state is not images.MapState.VALID:
        values.add(DELETION, image.objects, pool, owner)
    for snapshot in image.snapshots:
        values.add(SNAPSHOTS, 1, pool, snapshot.map_state.value)
    for name, limit in configuration.limits(image.overrides):
        values.add(LIMITED, 1, pool, volume_type, name)
        values.add(LIMITS, limit, pool, volume_type, name)


def _add_usage(values: Values, image: images.Image, *labels: str) -> None:
    labels = image.pool, *labels
    values.add(USAGE_PROVISIONED, image.size, *labels)
    values.add(USAGE_UNKNOWN, image.used is None, *labels)
    if image.used is not None:
        values.add(USAGE_USED, image.used, *labels)


def _add_removals(values: Values, audited: report.Report) -> None:
    """Add what the driver will remove from the trash, by project."""
    waiting = [
        (entry, entry.mark)
        for each in audited.scans
        for entry in each.trash
        if entry.mark
    ]
    numbers = collections.Counter(mark.project for _, mark in waiting)
    project_of = _limited(numbers, MAX_TYPES)
    for entry, mark in waiting:
        blocked = DELAY if entry.expires > audited.taken else entry.blocked
        labels = entry.pool, project_of(mark.project), blocked
        values.add(WAITING, 1, *labels)
        values.add(WAITING_BYTES, mark.size, *labels)
        values.add(WAITING_SINCE, entry.expires.timestamp(), *labels)


def _add_findings(values: Values, audited: report.Report) -> None:
    """Add a value for each kind, even 0, so that alerts are resolved."""
    for each in audited.scans:
        for kind in findings.KINDS.values():
            # Nothing is known about other kinds; 0 would be wrong.
            if not each.is_forbidden or kind is findings.FORBIDDEN:
                severity = kind.severity.name.lower()
                values.add(FINDINGS, 0, each.pool, kind.code, severity)
    for found in audited.found:
        severity = found.kind.severity.name.lower()
        values.add(FINDINGS, 1, found.pool, found.kind.code, severity)


def _add_attachments(values: Values, audited: report.Report) -> None:
    """Add a value for each state, if the volumes are known."""
    if audited.known is None:
        return
    for state in compute_hosts.State:
        values.add(ATTACHMENTS, 0, _state(state))
    for volume in audited.known.volumes.values():
        in_force = (
            volume.made.get(image_record.ATTRIBUTE_CACHE_MODES_IN_FORCE) or {}
        )
        requested = volume.made.get(definitions.ATTRIBUTE_CACHE_MODES) or {}
        for attachment, mode in requested.items():
            if mode:
                state = compute_hosts.compare_modes(
                    mode, in_force.get(attachment)
                )
                values.add(ATTACHMENTS, 1, _state(state))


def _state(state: compute_hosts.State) -> str:
    return state.value.replace(' ', '_')
