# SPDX-License-Identifier: Apache-2.0

"""An audit, from the options of a command to the report."""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import datetime
import functools
import time
from typing import Any

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import report
from rbd_volume_tools.audit import rules
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import ceph_arguments

#: Called with a pool, its number of images read so far, and the total.
Progress = Callable[[str, int, int], None]


def run(
    cluster: scan.Cluster,
    pools: Iterable[str] | None,
    read_records: Callable[[], records.Records | None],
    progress: Progress = lambda pool, done, total: None,
    workers: int = scan.WORKERS,
    with_usage: bool = False,
    list_objects: bool = False,
    objects_per_second: int | None = None,
) -> report.Report:
    """Audit pools and return the report.

    :param pools: names of Ceph pools; None for all with the application rbd
    :param read_records: returns the cloud's records. It is called after the
        scan: an image that the scan found has a record by then if it belongs
        to a resource.
    :param with_usage: whether to read the used space of images
    :param list_objects: whether to list all objects of the cluster, to find
        data without a header
    :param objects_per_second: limit of the listing; None for no limit
    :raises rados.Error: if the cluster does not answer
    """
    taken = datetime.datetime.now(datetime.timezone.utc)
    began = time.monotonic()
    scans = [
        _scanned(
            cluster,
            pool,
            functools.partial(progress, pool),
            workers,
            with_usage,
        )
        for pool in dict.fromkeys(cluster.pools() if pools is None else pools)
    ]
    known = read_records()
    suspected: list[findings.Finding] = []
    for each in scans:
        suspected += rules.of_pool(each, known, taken)
    if known is not None:
        ghosts = list(rules.ghosts(scans, known))
        lost = {each.volume for each in ghosts}
        # The only image of a volume is no second one.
        suspected = [
            each
            for each in suspected
            if each.kind is not findings.SECOND_IMAGE
            or each.volume not in lost
        ]
        suspected += ghosts
        suspected += rules.unaudited(scans, known, pools is None)
    if list_objects:
        suspected += _of_objects(cluster, scans, progress, objects_per_second)
    confirmed = list(_confirmed(cluster, scans, suspected))
    return report.make(
        taken, time.monotonic() - began, scans, confirmed, known
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    ceph_arguments.add(parser)
    parser.add_argument(
        '--pool',
        metavar='<pool>',
        action='append',
        help='Ceph pool to audit; repeat the option for several pools '
        '(default: all pools with the application rbd)',
    )
    parser.add_argument(
        '--no-cloud',
        action='store_true',
        help='Audit Ceph without the records of Cinder, Glance and Nova, '
        'which are required to find orphans and volumes without an image',
    )
    parser.add_argument(
        '--workers',
        metavar='<number>',
        type=maintenance.number_from(1, most=64, kind=int),
        default=scan.WORKERS,
        help='Number of connections that read images (default: %(default)s)',
    )


def of_options(
    shell: Any,
    parsed_args: argparse.Namespace,
    progress: Progress = lambda pool, done, total: None,
    timeout: int | None = None,
    with_usage: bool = False,
) -> report.Report:
    """Run an audit.

    :param shell: the application, which connects to the cloud
    :param timeout: seconds for an operation of Ceph; None for Ceph's own limit
    :param with_usage: whether to read the used space of images
    :raises RuntimeError: if Ceph's libraries for Python are not installed
    """
    # Before the scan, which can take long.
    cloud = None if parsed_args.no_cloud else shell.administrator()
    cluster = scan.of_options(parsed_args, timeout)

    def read_records() -> records.Records | None:
        if cloud is None:
            return None
        return records.of_cloud(cloud, cluster.fsid())

    return run(
        cluster,
        parsed_args.pool,
        read_records,
        progress,
        parsed_args.workers,
        with_usage,
        getattr(parsed_args, 'objects', False),
        getattr(parsed_args, 'objects_per_second', None),
    )


def _scanned(
    cluster: scan.Cluster,
    pool: str,
    progress: scan.Progress,
    workers: int,
    with_usage: bool,
) -> scan.PoolScan:
    """Scan a pool; one that cannot be read does not end the audit."""
    try:
        return cluster.scan(pool, progress, workers, with_usage=with_usage)
    except (
        *(cluster.librados.Error, cluster.librbd.Error),
        *(reading.NotRead, reading.Stopped),
    ) as error:
        if getattr(error, 'errno', None) in scan.LOST:
            # That concerns the cluster.
            raise
        return scan.PoolScan(pool, (), {}, (), failed=str(error))


def _of_objects(
    cluster: scan.Cluster,
    scans: Iterable[scan.PoolScan],
    progress: Progress,
    per_second: int | None,
) -> Iterator[findings.Finding]:
    """Yield what only a list of all objects shows."""
    listed = cluster.inventory(
        lambda pool, number: progress(f'objects of {pool}', number, number),
        per_second,
    )
    for pool, why in listed.unlisted.items():
        yield findings.Finding(
            findings.FORBIDDEN, pool, '', f'the list of its objects: {why}'
        )
    for pool, ident, number in cluster.lost_data(listed):
        yield findings.Finding(
            findings.DATA_ALONE,
            pool,
            f'rbd_data.{ident}',
            f'{number} objects',
            ident=ident,
        )
    for each in scans:
        if each.is_forbidden:
            continue
        for ident in cluster.lost_headers(each.pool, listed):
            yield findings.Finding(
                findings.HEADER_ALONE,
                each.pool,
                f'rbd_header.{ident}',
                ident=ident,
            )


#: Kinds of images and snapshots that a creation between the scan and the
#: query of the records can cause.
_MISSING = frozenset({findings.GHOST, findings.LOST_SNAPSHOT})
#: Kinds that a deletion or a change in this time can cause.
_TRANSIENT = frozenset(
    {
        *rules.ORPHANS.values(),
        findings.CLONE_SNAPSHOT,
        findings.DELETED_SOURCE,
        findings.CONTRADICTION,
        findings.SECOND_IMAGE,
        findings.INTERRUPTED_UPLOAD,
        findings.CONFIGURATION,
    }
)


def _confirmed(
    cluster: scan.Cluster,
    scans: Iterable[scan.PoolScan],
    suspected: Iterable[findings.Finding],
) -> Iterator[findings.Finding]:
    """Yield the findings that a second look at their images confirms."""
    before = {
        (image.pool, image.name): image
        for each in scans
        for image in each.found
    }
    doubtful: dict[str, list[findings.Finding]] = {}
    for each in suspected:
        if each.kind in _MISSING | _TRANSIENT:
            doubtful.setdefault(each.pool, []).append(each)
        else:
            yield each
    for pool, listed in doubtful.items():
        names = {each.image.partition('@')[0] for each in listed}
        images = cluster.reread(pool, names)
        for each in listed:
            name, _, snapshot = each.image.partition('@')
            exists, image = name in images, images.get(name)
            if image and snapshot:
                # Other names that contain the ID follow
                # snapshot_name_template.
                ident = snapshot.removeprefix('snapshot-')
                exists = any(ident in x.name for x in image.snapshots)
            if each.kind is findings.CONFIGURATION:
                # It changes while an image is in use: it must have been the
                # same before and after the records were read.
                known = before[pool, name].overrides
                exists = image is not None and image.overrides == known
            if exists is not (each.kind in _MISSING):
                yield each
