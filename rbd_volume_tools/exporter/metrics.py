# SPDX-License-Identifier: Apache-2.0

"""The metrics, and their values in the report of an audit.

The number of time series is limited: pools and kinds of findings are few, and
volume types beyond :data:`MAX_TYPES` and projects beyond :data:`MAX_PROJECTS`
share one label. The table of images, which has no limit, is optional.
"""

import collections
from collections.abc import Iterator
import dataclasses

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
    """

    name: str
    text: str
    labels: tuple[str, ...] = ()


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


@dataclasses.dataclass(frozen=True)
class Sample:
    """A value of a metric.

    :ivar labels: values of the labels of the metric, in their order
    """

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


def of_report(
    audited: report.Report, has_usage: bool = False, has_images: bool = False
) -> Iterator[Sample]:
    """Yield the values of a report.

    :param has_usage: whether with the bytes of each project
    :param has_images: whether with the table of images
    """
    yield Sample(SUCCEEDED, audited.taken.timestamp())
    yield Sample(DURATION, audited.seconds)
    yield from _of_counts(audited)
    yield from _of_scans(audited)
    yield from _of_removals(audited)
    yield from _of_limits(audited)
    yield from _of_findings(audited)
    yield from _of_attachments(audited)
    if has_usage:
        yield from _of_usage(audited)
    if has_images:
        yield from _of_images(audited)


def _of_usage(audited: report.Report) -> Iterator[Sample]:
    """Yield the bytes of each project; those without a volume have none."""
    shown = _shown_types(audited)
    sizes: collections.Counter[tuple[str, ...]] = collections.Counter()
    used: dict[tuple[str, ...], int] = {}
    unknown: collections.Counter[tuple[str, ...]] = collections.Counter()
    by_project: collections.Counter[str] = collections.Counter()
    images_of: list[tuple[images.Image, str]] = [
        (image, audited.project_of(image))
        for each in audited.scans
        for image in each.found
    ]
    for image, project in images_of:
        by_project[project] += image.size
    largest = {name for name, _ in by_project.most_common(MAX_PROJECTS)}
    for image, project in images_of:
        volume_type = audited.type_of(image)
        labels: tuple[str, ...] = (
            image.pool,
            volume_type if volume_type in shown else OTHER_TYPES,
            project if project in largest else OTHER_TYPES,
        )
        sizes[labels] += image.size
        if image.used is None:
            unknown[labels] += 1
        else:
            used[labels] = used.get(labels, 0) + image.used
    for labels, size in sorted(sizes.items()):
        yield Sample(USAGE_PROVISIONED, size, labels)
        yield Sample(USAGE_UNKNOWN, unknown[labels], labels)
        if labels in used:
            yield Sample(USAGE_USED, used[labels], labels)


def _of_images(audited: report.Report) -> Iterator[Sample]:
    for each in audited.scans:
        for image in each.found:
            if ident := audited.volume_id_of(image):
                labels = (image.pool, image.name, ident)
                project = audited.project_of(image)
                yield Sample(IMAGE_INFO, 1, (*labels, project))


def _of_counts(audited: report.Report) -> Iterator[Sample]:
    shown = _shown_types(audited)
    numbers: collections.Counter[tuple[str, ...]] = collections.Counter()
    sizes: collections.Counter[tuple[str, ...]] = collections.Counter()
    for each in audited.counts:
        volume_type = each.volume_type
        if volume_type not in shown:
            volume_type = OTHER_TYPES
        labels: tuple[str, ...] = (
            each.pool,
            _label(each.owner),
            volume_type,
            each.map_state.value,
        )
        numbers[labels] += each.number
        sizes[labels] += each.size
    for labels, number in sorted(numbers.items()):
        yield Sample(IMAGES, number, labels)
        yield Sample(PROVISIONED, sizes[labels], labels)


def _shown_types(audited: report.Report) -> frozenset[str]:
    """Return the volume types with their own label, and the empty name."""
    numbers: collections.Counter[str] = collections.Counter()
    for each in audited.counts:
        if each.volume_type:
            numbers[each.volume_type] += each.number
    ordered = sorted(numbers, key=lambda name: (-numbers[name], name))
    return frozenset(['', *ordered[:MAX_TYPES]])


def _of_scans(audited: report.Report) -> Iterator[Sample]:
    for each in audited.scans:
        if each.is_forbidden:
            # Nothing is known about the pool; 0 would be wrong.
            continue
        states = collections.Counter(
            snapshot.map_state
            for image in each.found
            for snapshot in image.snapshots
        )
        for state in images.MapState:
            yield Sample(SNAPSHOTS, states[state], (each.pool, state.value))
        objects: collections.Counter[names.Owner] = collections.Counter()
        for image in each.found:
            if image.map_state is not images.MapState.VALID:
                objects[names.of_image(image.name).owner] += image.objects
        for owner in names.Owner:
            if owner in objects:
                labels = (each.pool, _label(owner))
                yield Sample(DELETION, objects[owner], labels)
        yield Sample(TRASH, len(each.trash), (each.pool,))


def _of_removals(audited: report.Report) -> Iterator[Sample]:
    """Yield what the driver will remove from the trash, by project.

    Projects beyond :data:`MAX_TYPES`, those with the fewest, share a label.
    """
    waiting = [
        (entry, entry.mark)
        for each in audited.scans
        for entry in each.trash
        if entry.mark
    ]
    projects = collections.Counter(mark.project for _, mark in waiting)
    shown = {project for project, _ in projects.most_common(MAX_TYPES)}
    numbers: collections.Counter[tuple[str, ...]] = collections.Counter()
    sizes: collections.Counter[tuple[str, ...]] = collections.Counter()
    since: dict[tuple[str, ...], float] = {}
    for entry, mark in waiting:
        labels: tuple[str, ...] = (
            entry.pool,
            mark.project if mark.project in shown else OTHER_TYPES,
            DELAY if entry.expires > audited.taken else entry.blocked,
        )
        numbers[labels] += 1
        sizes[labels] += mark.size
        at = entry.expires.timestamp()
        since[labels] = min(at, since.get(labels, at))
    for labels, number in sorted(numbers.items()):
        yield Sample(WAITING, number, labels)
        yield Sample(WAITING_BYTES, sizes[labels], labels)
        yield Sample(WAITING_SINCE, since[labels], labels)


def _of_limits(audited: report.Report) -> Iterator[Sample]:
    """Yield the limits that clients of the images apply, by volume type."""
    shown = _shown_types(audited)
    numbers: collections.Counter[tuple[str, ...]] = collections.Counter()
    sums: collections.Counter[tuple[str, ...]] = collections.Counter()
    for each in audited.scans:
        for image in each.found:
            volume_type = audited.type_of(image)
            if volume_type not in shown:
                volume_type = OTHER_TYPES
            for name, limit in configuration.limits(image.overrides):
                where = each.pool, volume_type, name
                numbers[where] += 1
                sums[where] += limit
    for labels, number in sorted(numbers.items()):
        yield Sample(LIMITED, number, labels)
        yield Sample(LIMITS, sums[labels], labels)


def _of_findings(audited: report.Report) -> Iterator[Sample]:
    """Yield a value for each kind, even 0, so that alerts are resolved."""
    numbers = collections.Counter(
        (each.pool, each.kind.code) for each in audited.found
    )
    for each in audited.scans:
        for kind in findings.KINDS.values():
            if each.is_forbidden and kind is not findings.FORBIDDEN:
                # Nothing is known about the pool; 0 would be wrong.
                continue
            labels = (each.pool, kind.code, kind.severity.name.lower())
            number = numbers.pop((each.pool, kind.code), 0)
            yield Sample(FINDINGS, number, labels)
    # Those of back ends have pools that were not scanned.
    for (pool, code), number in sorted(numbers.items()):
        severity = findings.KINDS[code].severity.name.lower()
        yield Sample(FINDINGS, number, (pool, code, severity))


def _of_attachments(audited: report.Report) -> Iterator[Sample]:
    """Yield a value for each state, if the volumes are known."""
    if audited.known is None:
        return
    numbers: collections.Counter[compute_hosts.State] = collections.Counter()
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
                numbers[state] += 1
    for state in compute_hosts.State:
        label = state.value.replace(' ', '_')
        yield Sample(ATTACHMENTS, numbers[state], (label,))


def _label(owner: names.Owner) -> str:
    return owner.name.lower()
