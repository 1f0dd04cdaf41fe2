# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext clean``: removes leftovers that the audit finds."""

import argparse
import datetime
import functools
import pathlib
from typing import Any
import uuid

from cliff import command

from rbd_volume_options import sizes
from rbd_volume_tools.audit import ceph_cluster
from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import run
from rbd_volume_tools.audit import scan
from rbd_volume_tools.clean import examination
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import plans
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import health
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import projects
from rbd_volume_tools.command_line import whole_file

# Ceph has 32 bits for the time until which an image stays in the trash.
_MOST_HOURS = 10 * 365 * 24
_MAX_SKEW = datetime.timedelta(minutes=5)
_MAX_AGE = datetime.timedelta(days=3)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _require_clock(cloud: Any) -> None:
    """Check that the clock of this host is that of the services of Cinder.

    Ages and delays count from the times of other hosts. Each service writes
    the time of its clock to the database every few seconds. A response of the
    API does not always have a time, or has that of a proxy.

    :raises ValueError: otherwise
    """
    services = answers.record(cloud.block_storage.get('/os-services'))
    times = [
        records.utc(each['updated_at'])
        for each in services['services']
        if each['updated_at']
    ]
    if not times:
        raise ValueError(
            'The clock of this host cannot be compared: no service of Cinder '
            'has reported. Start the services.'
        )
    skew = _now() - max(times)
    if abs(skew) > _MAX_SKEW:
        raise ValueError(
            f'The clock of this host differs by {skew} from the time at which '
            'a service of Cinder has last reported. Set the clocks with NTP, '
            'because ages and delays count from such times, and check the '
            'services: openstack volume service list.'
        )


def _require_young(header: plans.Header) -> None:
    """Check that a plan is not old.

    :raises PlanError: otherwise
    """
    try:
        taken = datetime.datetime.fromisoformat(header.taken)
        age = _now() - taken
    except (TypeError, ValueError) as error:
        raise plans.PlanError(f'The time of the plan: {error}') from error
    if not -_MAX_SKEW < age < _MAX_AGE:
        raise plans.PlanError(
            f'The plan is of {header.taken}. Plans are valid for '
            f'{_MAX_AGE.days} days. Make a new plan.'
        )


def _cloud_url(cloud: Any) -> str:
    return str(cloud.config.get_auth_args().get('auth_url', ''))


def _region(cloud: Any) -> str:
    return str(cloud.config.get_region_name() or '')


def _examiner(
    cluster: scan.Cluster,
    cloud: Any,
    header: plans.Header,
    known: records.Records,
    stored: databases.Databases,
    approved: frozenset[str],
    breaks_locks: bool = False,
) -> examination.Examiner:
    """Return the examiner of a plan, or of its execution.

    :raises ValueError: if a database is that of another cloud, or may be
    """
    for config_file, shown, what in (
        (header.cinder_config, known.volumes, 'volume'),
        (header.glance_config, known.images, 'image in Glance'),
    ):
        if config_file and not shown:
            raise ValueError(
                f'The cloud {header.cloud} has no {what} by which the '
                f'database of {config_file} can be recognized as its own. '
                'Create one, or leave out the file.'
            )
    if header.cinder_config:
        maintenance.require_volumes(stored, header.cinder_config, known)
    for ident in (
        sorted(known.images or ())[:1] if header.glance_config else ()
    ):
        row = stored.image(ident)
        if row is None or row.is_deleted:
            raise ValueError(
                f'The database of {header.glance_config} does not have image '
                f'{ident} of the cloud {header.cloud}. Give the '
                'glance-api.conf of this cloud.'
            )
    rules = examination.Rules(
        datetime.timedelta(seconds=header.delay),
        datetime.timedelta(seconds=header.older_than),
        breaks_locks,
    )
    proofs = evidence.Evidence(
        known, records.CloudNow(cloud), stored, approved
    )
    return examination.Examiner(
        cluster,
        proofs,
        rules,
        lambda pool, number: (
            maintenance.say(f'Listing the objects of {pool}: {number}')
            if number % 1_000_000 == 0
            else None
        ),
    )


class Plan(maintenance.Command):
    """Examine leftovers that the audit finds, and write a plan to remove them.

    Nothing is removed. The plan has only leftovers that provably belong to
    this cloud; the others are listed with the reason. Read the plan, and
    delete the lines of what shall stay. The exit status is 0 if nothing was
    refused, 1 if a leftover was refused, and 2 if one could not be examined,
    or a pool or an image could not be read. A leftover whose owner is unknown
    does not count.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '-o',
            '--output',
            metavar='<file>',
            type=pathlib.Path,
            required=True,
            help='File for the plan, which must not exist',
        )
        parser.add_argument(
            '--pool',
            metavar='<pool>',
            action='append',
            help='Ceph pool to examine; repeat the option for several pools '
            '(default: all pools with the application rbd)',
        )
        parser.add_argument(
            '--kind',
            metavar='<kind>',
            action='append',
            default=[],
            choices=sorted(kind.code for kind in leftovers.TABLE),
            help='Kind of findings to remove; repeat the option for several '
            'kinds (default: all that can be removed)',
        )
        parser.add_argument(
            '--name',
            metavar='<pattern>',
            action='append',
            default=[],
            help='Names of images, with * and ?; repeat the option for '
            'several patterns',
        )
        projects.add(
            parser,
            'Project of the deleted owner, as far as a database or an API '
            'shows it',
        )
        parser.add_argument(
            '--limit',
            metavar='<number>',
            type=maintenance.count,
            default=100,
            help='Maximum number of items in the plan (default: %(default)s)',
        )
        parser.add_argument(
            '--cinder-config',
            metavar='<file>',
            default='',
            help='cinder.conf with the connection to the database, where '
            'deleted volumes and backups are looked up',
        )
        parser.add_argument(
            '--glance-config',
            metavar='<file>',
            default='',
            help='glance-api.conf with the connection to the database, where '
            'deleted images are looked up',
        )
        parser.add_argument(
            '--approve',
            metavar='<file>',
            type=pathlib.Path,
            help='File with images that belong to this cloud though nothing '
            'proves it: one <pool>/<id> in each line',
        )
        parser.add_argument(
            '--delay',
            metavar='<hours>',
            type=maintenance.number_from(1, most=_MOST_HOURS),
            default=168.0,
            help='Time for which images stay in the trash, in hours, at least '
            '1 and at most ten years (default: %(default)s)',
        )
        parser.add_argument(
            '--older-than',
            metavar='<hours>',
            type=maintenance.number_from(1, most=_MOST_HOURS),
            default=24.0,
            help='Minimum time since the last sign of life, in hours, at '
            'least 1 and at most ten years (default: %(default)s)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        path: pathlib.Path = parsed_args.output
        exists = f'{path} exists. Give the name of a new file.'
        if path.exists():
            raise ValueError(exists)
        whole_file.check(path)
        approved: frozenset[str] = frozenset()
        if parsed_args.approve:
            approved = plans.approvals(whole_file.read(parsed_args.approve))
        # Before the scan, which can take long.
        stored = databases.Databases(
            parsed_args.cinder_config, parsed_args.glance_config
        )
        shell: Any = self.app
        cloud = shell.administrator()
        _require_clock(cloud)
        selected = projects.selected(cloud, parsed_args.project)
        cluster = ceph_cluster.connected(parsed_args)
        read = functools.cache(
            functools.partial(records.of_cloud, cloud, cluster.fsid())
        )
        with progress.shown(self.app.stderr) as show:
            audited = run.run(cluster, parsed_args.pool, read, show)
        known = read()
        header = plans.Header(
            cluster.fsid(),
            _cloud_url(cloud),
            _region(cloud),
            known.cloud_id,
            _now().isoformat(timespec='seconds'),
            parsed_args.delay * 3600,
            parsed_args.older_than * 3600,
            _absolute(parsed_args.cinder_config),
            _absolute(parsed_args.glance_config),
        )
        examined = list(
            plans.made(
                audited,
                plans.Filter(
                    frozenset(parsed_args.kind),
                    tuple(parsed_args.name),
                    selected.idents,
                    parsed_args.limit,
                ),
                _examiner(cluster, cloud, header, known, stored, approved),
            )
        )
        items = [x.item for x in examined if isinstance(x, removal.Removal)]
        selected.check(
            {each.project for each in maintenance.dry(examined)},
            may_be_deleted=True,
        )
        try:
            whole_file.write(path, plans.text(header, items), is_new=True)
        except FileExistsError as error:
            raise ValueError(exists) from error
        size = sizes.format_size(sum(each.size for each in items))
        maintenance.say(f'{path}: {len(items)} items, {size} provisioned')
        for each in audited.found:
            if each.kind is findings.FORBIDDEN:
                what = (
                    f'Image {each.pool}/{each.image}'
                    if each.image
                    else f'Pool {each.pool}'
                )
                maintenance.say(
                    f'{what} was not examined: client.'
                    f'{parsed_args.ceph_user} may not read it. Name other '
                    'pools with --pool, or another --ceph-user.'
                )
        rows = self.rows(maintenance.dry(examined))
        if not audited.is_complete:
            self.status = exit_status.FAILED
        return rows


def _absolute(path: str) -> str:
    return str(pathlib.Path(path).absolute()) if path else ''


class Apply(maintenance.Command):
    """Remove what a plan lists.

    Each item is examined again immediately before its removal, and refused if
    it has changed since the plan. Images are moved to the trash for the time
    of --delay of the plan. The exit status is 0 if nothing is left to do, 1 if
    a removal was refused, 2 if a removal failed, and 3 if the command failed
    or was interrupted.
    """

    # Removals free the space that the cluster lacks.
    tolerated = health.FULL

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'plan',
            metavar='<file>',
            type=pathlib.Path,
            help='File that clean plan has written',
        )
        parser.add_argument(
            '--limit',
            metavar='<number>',
            type=maintenance.count,
            help='Apply only so many items, the first ones (default: all)',
        )
        parser.add_argument(
            '--break-stale-locks',
            action='store_true',
            help='Break the locks of clients that are gone, and blocklist '
            'these clients. Without it, their images are refused',
        )
        maintenance.add_change_options(parser, needs_journal=True)
        parser.set_defaults(bytes_per_second=None)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        header, items = plans.parsed(whole_file.read(parsed_args.plan))
        _require_young(header)
        shell: Any = self.app
        cloud = shell.administrator()
        _require_clock(cloud)
        cluster = ceph_cluster.connected(parsed_args)
        fsid, url, region = cluster.fsid(), _cloud_url(cloud), _region(cloud)
        planned = (header.cluster, header.cloud, header.region)
        if (fsid, url, region) != planned:
            raise plans.PlanError(
                f'The plan is for the cluster {header.cluster}, the cloud '
                f'{header.cloud} and its region {header.region or "(none)"}, '
                f'not for {fsid}, {url} and {region or "(none)"}.'
            )
        known = records.of_cloud(cloud, fsid)
        if known.cloud_id != header.cloud_id:
            raise plans.PlanError(
                'rbd_cloud_id was changed since the plan. Make a new plan.'
            )
        examiner = _examiner(
            cluster,
            cloud,
            header,
            known,
            databases.Databases(header.cinder_config, header.glance_config),
            plans.approved(items),
            parsed_args.break_stale_locks,
        )
        items = items[: parsed_args.limit]
        return self.changed(
            parsed_args,
            'clean apply',
            cluster,
            [removal.Removal(each, examiner) for each in items],
            datetime.datetime.fromisoformat(header.taken),
        )


class CloudId(command.Command):
    """Print a new ID for a cloud, for the options rbd_cloud_id and cloud_id.

    Create one ID for a cloud and keep it.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        print(uuid.uuid4())
