# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext clean``: removes leftovers that the audit finds."""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import functools
import pathlib
from typing import Any
import uuid

from cliff import command

from rbd_volume_options import sizes
from rbd_volume_tools.audit import changes
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import run
from rbd_volume_tools.audit import scan
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import health
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import plan_file
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import projects
from rbd_volume_tools.command_line import whole_file

# Ceph has 32 bits for the time until which an image stays in the trash.
_MOST_HOURS = 10 * 365 * 24


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
    skew = plan_file.now() - max(times)
    if abs(skew) > plan_file.MAX_SKEW:
        raise ValueError(
            f'The clock of this host differs by {skew} from the time at which '
            'a service of Cinder has last reported. Set the clocks with NTP, '
            'because ages and delays count from such times, and check the '
            'services: openstack volume service list.'
        )


def _sources(
    cluster: scan.Cluster,
    cloud: Any,
    options: Mapping[str, Any],
    known: records.Records,
    stored: databases.Databases,
    approved: frozenset[str],
    breaks_locks: bool = False,
) -> evidence.Sources:
    """Return the sources of a plan, or of its execution.

    :param options: those of the plan
    :raises ValueError: if a database is that of another cloud, or may be
    """
    for service, name, what, idents, rows_of in (
        ('cinder', 'cinder.conf', 'volume', known.volumes, stored.volumes),
        (
            *('glance', 'glance-api.conf', 'image in Glance', known.images),
            lambda ident: [stored.image(ident)],
        ),
    ):
        config_file = options[f'{service}_config']
        if not config_file:
            continue
        if not idents:
            raise ValueError(
                f'The cloud has no {what} by which the database of '
                f'{config_file} can be recognized as its own. Create one, or '
                'leave out the file.'
            )
        ident = min(idents)
        if all(row is None or row.is_deleted for row in rows_of(ident)):
            raise ValueError(
                f'The database of {config_file} does not have {what} {ident} '
                f'of this cloud. Give the {name} of this cloud.'
            )
    return evidence.Sources(
        *(cluster, known, records.CloudNow(cloud), stored),
        datetime.timedelta(seconds=options['delay']),
        datetime.timedelta(seconds=options['older_than']),
        *(approved, breaks_locks),
        progress=lambda pool, number: (
            maintenance.say(f'Listing the objects of {pool}: {number}')
            if number % 1_000_000 == 0
            else None
        ),
    )


def _approved(items: Iterable[outcomes.Outcome]) -> frozenset[str]:
    """Return the images that the operator listed when the plan was made."""
    return frozenset(
        f'{each.pool}/{each.ident}'
        for each in items
        if each.seen['proof'] == leftovers.APPROVED
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


class PlanRemovals(maintenance.PlanCommand):
    """Examine leftovers that the audit finds, and write a plan to remove them.

    Nothing is removed. The plan has only leftovers that provably belong to
    this cloud; the others are listed with the reason. Read the plan, and
    delete the lines of what shall stay. The exit status is 0 if nothing was
    refused, 1 if a leftover was refused, and 2 if one could not be examined,
    or a pool or an image could not be read. A leftover whose owner is unknown
    does not count.
    """

    noun = 'clean'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
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
            choices=sorted(removal.KINDS),
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

    def planned(
        self, parsed_args: argparse.Namespace, cloud: Any, cluster: Any
    ) -> tuple[Mapping[str, Any], Iterable[outcomes.Outcome]]:
        approved: frozenset[str] = frozenset()
        if parsed_args.approve:
            approved = approvals(whole_file.read(parsed_args.approve))
        # Before the scan, which can take long.
        stored = databases.Databases(
            parsed_args.cinder_config, parsed_args.glance_config
        )
        _require_clock(cloud)
        selected = projects.selected(cloud, parsed_args.project)
        read = functools.cache(
            functools.partial(records.of_cloud, cloud, cluster.fsid())
        )
        with progress.shown(self.app.stderr) as show:
            audited = run.run(cluster, parsed_args.pool, read, show)
        known = read()
        options = {
            'cloud_id': known.cloud_id,
            'delay': parsed_args.delay * 3600,
            'older_than': parsed_args.older_than * 3600,
            'cinder_config': maintenance.absolute(parsed_args.cinder_config),
            'glance_config': maintenance.absolute(parsed_args.glance_config),
        }
        examined = list(
            removal.planned(
                audited,
                _sources(cluster, cloud, options, known, stored, approved),
                *(parsed_args.kind or removal.KINDS, parsed_args.name),
                *(selected.idents, parsed_args.limit),
            )
        )
        selected.check({x.project for x in examined}, may_be_deleted=True)
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
        if not audited.is_complete:
            self.least = exit_status.FAILED
        return options, examined

    def note(self, items: Sequence[outcomes.Outcome]) -> str:
        """Return the provisioned size of all items."""
        return f', {sizes.format_size(sum(x.size for x in items))} provisioned'


class ApplyRemovals(maintenance.ApplyCommand):
    """Remove what a plan lists.

    Each item is examined again immediately before its removal, and refused if
    it has changed since the plan. Images are moved to the trash for the time
    of --delay of the plan. The exit status is 0 if nothing is left to do, 1 if
    a removal was refused, 2 if a removal failed, and 3 if the command failed
    or was interrupted.
    """

    noun = 'clean'
    # Removals free the space that the cluster lacks.
    tolerated = health.FULL

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--break-stale-locks',
            action='store_true',
            help='Break the locks of clients that are gone, and blocklist '
            'these clients. Without it, their images are refused',
        )
        return parser

    def maker(
        self, parsed_args: argparse.Namespace, work: changes.Run
    ) -> changes.Make:
        _require_clock(work.cloud)
        options = work.plan.options
        sources = _sources(
            work.cluster,
            work.cloud,
            options,
            work.known,
            databases.Databases(
                options['cinder_config'], options['glance_config']
            ),
            _approved(work.items),
            parsed_args.break_stale_locks,
        )
        return lambda item, ioctx, ours: removal.Removal(
            sources, item, ioctx
        ).make(ours)


class CloudId(command.Command):
    """Print a new ID for a cloud, for the options rbd_cloud_id and cloud_id.

    Create one ID for a cloud and keep it.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        print(uuid.uuid4())
