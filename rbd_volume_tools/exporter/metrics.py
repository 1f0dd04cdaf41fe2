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


@dataclasses.dataclass(frozen=True)
class Sample:
    """A value of a metric.

    :ivar labels: values of the labels of the metric, in their order
    """

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


_Samples = Iterator[Sample]
#: Returns the label of a volume type or a project.
_Label = Callable[[str], str]


def of_report(
    audited: report.Report, has_usage: bool = False, has_images: bool = False
) -> _Samples:
    """Yield the values of a report.

    :param has_usage: whether with the bytes of each project
    :param has_images: whether with the table of images
    """
    values: dict[tuple[Metric, tuple[str, ...]], float] = {}
    for each in _parts(audited, has_usage, has_images):
        key = each.metric, each.labels
        before = values.get(key)
        values[key] = (
            each.value
            if before is None
            else each.metric.joined(before, each.value)
        )
    for (metric, labels), value in values.items():
        yield Sample(metric, value, labels)


def _parts(
    audited: report.Report, has_usage: bool, has_images: bool
) -> _Samples:
    """Yield what each image, entry of the trash and finding adds."""
    numbers: collections.Counter[str] = collections.Counter()
    for each in audited.counts:
        numbers[each.volume_type] += each.number
    type_label = _limited(numbers, MAX_TYPES)
    yield Sample(SUCCEEDED, audited.taken.timestamp())
    yield Sample(DURATION, audited.seconds)
    yield from _of_counts(audited, type_label)
    yield from _of_scans(audited)
    yield from _of_removals(audited)
    yield from _of_limits(audited, type_label)
    yield from _of_findings(audited)
    yield from _of_attachments(audited)
    if has_usage:
        yield from _of_usage(audited, type_label)
    if has_images:
        for image in _images(audited):
            if volume := audited.volume_of(image):
                labels = (
                    *(image.pool, image.name),
                    *(volume.ident, volume.project),
                )
                yield Sample(IMAGE_INFO, 1, labels)


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


def _of_usage(audited: report.Report, type_label: _Label) -> _Samples:
    """Yield the bytes of each project; those without a volume have none."""
    sizes: collections.Counter[str] = collections.Counter()
    for image in _images(audited):
        sizes[_project(audited, image)] += image.size
    project_label = _limited(sizes, MAX_PROJECTS)
    for image in _images(audited):
        labels = (
            image.pool,
            type_label(audited.type_of(image)),
            project_label(_project(audited, image)),
        )
        yield Sample(USAGE_PROVISIONED, image.size, labels)
        yield Sample(USAGE_UNKNOWN, image.used is None, labels)
        if image.used is not None:
            yield Sample(USAGE_USED, image.used, labels)


def _project(audited: report.Report, image: images.Image) -> str:
    volume = audited.volume_of(image)
    return volume.project if volume else ''


def _of_counts(audited: report.Report, type_label: _Label) -> _Samples:
    for each in audited.counts:
        labels = (
            *(each.pool, _label(each.owner)),
            *(type_label(each.volume_type), each.map_state.value),
        )
        yield Sample(IMAGES, each.number, labels)
        yield Sample(PROVISIONED, each.size, labels)


def _of_scans(audited: report.Report) -> _Samples:
    for each in audited.scans:
        if each.is_forbidden:
            # Nothing is known about the pool; 0 would be wrong.
            continue
        for state in images.MapState:
            yield Sample(SNAPSHOTS, 0, (each.pool, state.value))
        for image in each.found:
            for snapshot in image.snapshots:
                labels = (each.pool, snapshot.map_state.value)
                yield Sample(SNAPSHOTS, 1, labels)
            if image.map_state is not images.MapState.VALID:
                owner = names.of_image(image.name).owner
                labels = (each.pool, _label(owner))
                yield Sample(DELETION, image.objects, labels)
        yield Sample(TRASH, len(each.trash), (each.pool,))


def _of_removals(audited: report.Report) -> _Samples:
    """Yield what the driver will remove from the trash, by project."""
    waiting = [
        (entry, entry.mark)
        for each in audited.scans
        for entry in each.trash
        if entry.mark
    ]
    numbers = collections.Counter(mark.project for _, mark in waiting)
    project_label = _limited(numbers, MAX_TYPES)
    for entry, mark in waiting:
        labels = (
            entry.pool,
            project_label(mark.project),
            DELAY if entry.expires > audited.taken else entry.blocked,
        )
        yield Sample(WAITING, 1, labels)
        yield Sample(WAITING_BYTES, mark.size, labels)
        yield Sample(WAITING_SINCE, entry.expires.timestamp(), labels)


def _of_limits(audited: report.Report, type_label: _Label) -> _Samples:
    """Yield the limits that clients of the images apply, by volume type."""
    for image in _images(audited):
        volume_type = type_label(audited.type_of(image))
        for name, limit in configuration.limits(image.overrides):
            labels = (image.pool, volume_type, name)
            yield Sample(LIMITED, 1, labels)
            yield Sample(LIMITS, limit, labels)


def _of_findings(audited: report.Report) -> _Samples:
    """Yield a value for each kind, even 0, so that alerts are resolved."""
    for each in audited.scans:
        for kind in findings.KINDS.values():
            # Nothing is known about other kinds; 0 would be wrong.
            if not each.is_forbidden or kind is findings.FORBIDDEN:
                yield _of_kind(each.pool, kind, 0)
    for found in audited.found:
        yield _of_kind(found.pool, found.kind, 1)


def _of_kind(pool: str, kind: findings.Kind, number: int) -> Sample:
    severity = kind.severity.name.lower()
    return Sample(FINDINGS, number, (pool, kind.code, severity))


def _of_attachments(audited: report.Report) -> _Samples:
    """Yield a value for each state, if the volumes are known."""
    if audited.known is None:
        return
    for state in compute_hosts.State:
        yield Sample(ATTACHMENTS, 0, (_state(state),))
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
                yield Sample(ATTACHMENTS, 1, (_state(state),))


def _state(state: compute_hosts.State) -> str:
    return state.value.replace(' ', '_')


def _label(owner: names.Owner) -> str:
    return owner.name.lower()
