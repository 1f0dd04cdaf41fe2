# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext retype``: changes the type of many volumes."""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import pathlib
import threading
from typing import Any

from rbd_volume_tools.audit import ceph_cluster
from rbd_volume_tools.audit import changes as run
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import health
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import projects
from rbd_volume_tools.fleet import retype_rules
from rbd_volume_tools.fleet import retypes
from rbd_volume_tools.fleet import volume_service

# Timeout of Ceph operations in seconds. The command only reads the health.
_TIMEOUT = 30
_STOPPING = (
    'No more retypes begin. Cinder completes those that it has accepted.'
)

_UNSEEN = (
    'The user is not an administrator of the cloud: the volumes of other '
    'projects were not seen, and keep their type. Use the cloud or the OS_* '
    'variables of an administrator, or name the volumes.'
)


class Retype(maintenance.Command):
    """Retype many volumes through Cinder's API, a few at once.

    Volumes that have the new type are skipped, so that the command can be
    repeated. The exit status is 0 if nothing is left to do, 1 if a retype was
    refused, 2 if one failed, 3 if the command failed or was interrupted, and 4
    if the user is not an administrator: Cinder then lists the volumes of the
    user's project only, unless the volumes are named.
    """

    what = 'volumes'
    columns: Mapping[str, str] = {
        'Volume': 'volume',
        'Project': 'project',
        'Detail': 'detail',
        'What to do': 'remedy',
    }

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_choice(parser)
        _add_limits(parser)
        _add_conditions(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        shell: Any = self.app
        cloud = shell.cloud()
        service = volume_service.VolumeService(cloud.block_storage)
        self._sees_all = (
            bool(parsed_args.volume) or service.is_administrators()
        )
        wanted = _wanted(service, parsed_args)
        selected = projects.selected(cloud, parsed_args.project)
        stop = threading.Event()
        with contextlib.ExitStack() as stack:
            written = None
            if parsed_args.journal and not parsed_args.dry_run:
                written = stack.enter_context(_journal(parsed_args, wanted))
            chosen = _Choice(service, wanted, selected, parsed_args, written)
            earlier, volumes = chosen.volumes()
            if wanted.unset:
                maintenance.say(_kept(wanted))
            if parsed_args.dry_run:
                return self.rows(map(_planned(wanted), volumes))
            is_healthy = stack.enter_context(_health(service, parsed_args))
            show = stack.enter_context(progress.with_running(self.app.stderr))
            stack.enter_context(
                run.stoppable(stop, maintenance.say, _STOPPING)
            )
            work = retypes.Retypes(
                service,
                wanted,
                written,
                pace.Pace(stop, parsed_args.rate),
                stop,
                maintenance.say,
                is_healthy,
                parsed_args.at_once,
                parsed_args.patience * 60,
            )
            results = [*earlier, *work.run(volumes, show)]
        return self.rows(results, interrupted=stop.is_set())

    def rows(
        self, results: Iterable[outcomes.Outcome], interrupted: bool = False
    ) -> exit_status.Rows:
        """Show a summary and return the rows."""
        rows = super().rows(results, interrupted)
        if not self._sees_all:
            maintenance.say(_UNSEEN)
            self.status = self.status or exit_status.ATTENTION
        return rows


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'volume',
        metavar='<volume-id>',
        nargs='*',
        help='Volume, of any project (default: all volumes of the type of '
        '--from)',
    )
    parser.add_argument(
        '--from',
        dest='former',
        metavar='<type>',
        required=True,
        help='Former volume type (name or ID)',
    )
    parser.add_argument(
        '--to',
        dest='target',
        metavar='<type>',
        required=True,
        help='New volume type (name or ID)',
    )
    projects.add(parser, 'Volumes of this project')
    parser.add_argument(
        '--limit',
        metavar='<number>',
        type=maintenance.count,
        help='Maximum number of volumes of this run (default: no limit)',
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='Show which volumes would be retyped; change nothing',
    )
    parser.add_argument(
        '--rate',
        metavar='<number>',
        type=maintenance.number_from(0, above=True),
        help='Maximum number of retypes that begin in a minute (default: no '
        'limit)',
    )
    parser.add_argument(
        '--at-once',
        metavar='<number>',
        type=maintenance.count,
        default=4,
        help='Maximum number of retypes at the same time (default: '
        '%(default)s)',
    )
    parser.add_argument(
        '--migration-policy',
        choices=['never', 'on-demand'],
        default='never',
        help='Whether Cinder may migrate a volume that is not converted. '
        'A migration copies the data through the host of cinder-volume '
        '(default: %(default)s)',
    )


def _add_conditions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--journal',
        metavar='<file>',
        type=pathlib.Path,
        help='File where each retype is recorded. The same command with the '
        'same file continues, and also reports what earlier runs have done',
    )
    parser.add_argument(
        '--patience',
        metavar='<minutes>',
        type=maintenance.number_from(0, above=True),
        default=60.0,
        help='Time without progress after which a volume is reported as '
        'failed, or the run ends if Cinder does not answer (default: '
        '%(default)s)',
    )
    parser.add_argument(
        '--ignore-health',
        action='store_true',
        help='Do not read the health of the Ceph cluster. Otherwise no '
        'retype begins while it reports health checks such as PG_DEGRADED, '
        'SLOW_OPS or OSD_NEARFULL',
    )


def _wanted(
    service: volume_service.VolumeService, parsed_args: argparse.Namespace
) -> retypes.Wanted:
    former = service.type_of(parsed_args.former)
    target = service.type_of(parsed_args.target)
    if former.ident == target.ident:
        raise ValueError(f'--from and --to are the same type: {former.name}.')
    return retypes.Wanted(
        former.name,
        target.name,
        target.ident,
        parsed_args.migration_policy,
        retype_rules.unset(former.specs, target.specs),
    )


def _kept(wanted: retypes.Wanted) -> str:
    return (
        f'{wanted.target} does not set {", ".join(wanted.unset)}. A volume '
        f'keeps what its project may request with {wanted.target}, and '
        'otherwise gets the default of the back end. The result says what '
        'each volume keeps.'
    )


def _journal(
    parsed_args: argparse.Namespace, wanted: retypes.Wanted
) -> journal.Journal:
    """Open the journal, which belongs to the two types."""
    name = f'retype {wanted.former} {wanted.target_id}'
    written = journal.Journal(parsed_args.journal, name, '')
    if written.resumed:
        maintenance.say(f'Resuming the run of {parsed_args.journal}.')
    return written


@dataclasses.dataclass(frozen=True)
class _Choice:
    """The volumes that the options select."""

    service: volume_service.VolumeService
    wanted: retypes.Wanted
    selected: projects.Projects
    parsed_args: argparse.Namespace
    written: journal.Journal | None

    def volumes(
        self,
    ) -> tuple[list[outcomes.Outcome], list[records.Volume]]:
        """Return the outcomes of earlier runs, and the volumes of this run.

        :raises ValueError: if a volume or a project does not exist, or a
            volume is not of the projects that were chosen
        """
        earlier, waiting = [], []
        for each in self._named() or self._listed():
            if self._was_done(each):
                status = outcomes.Status.EARLIER
                about = retypes.about(each)
                earlier.append(dataclasses.replace(about, status=status))
            else:
                waiting.append(each)
        return earlier, waiting[: self.parsed_args.limit]

    def _named(self) -> list[records.Volume]:
        by_ident = {
            ident: self.service.show(ident)
            for ident in self.parsed_args.volume
        }
        missing = [ident for ident, each in by_ident.items() if each is None]
        if missing:
            raise ValueError(f'There is no volume {", ".join(missing)}.')
        volumes = [each for each in by_ident.values() if each is not None]
        others = [each.ident for each in volumes if not self._is_chosen(each)]
        if others:
            raise ValueError(
                f'Not of a project of --project: {", ".join(others)}.'
            )
        return volumes

    def _listed(self) -> list[records.Volume]:
        volumes = list(self.service.volumes())
        self.selected.check({each.project for each in volumes})
        return [
            each
            for each in volumes
            if self._is_chosen(each)
            and (each.volume_type == self.wanted.former or self._begun(each))
        ]

    def _is_chosen(self, volume: records.Volume) -> bool:
        idents = self.selected.idents
        return not idents or volume.project in idents

    def _begun(self, volume: records.Volume) -> bool:
        return bool(self.written and volume.ident in self.written.begun)

    def _was_done(self, volume: records.Volume) -> bool:
        return bool(
            self.written
            and volume.volume_type == self.wanted.target
            and self.written.done('', '', volume.ident)
        )


def _planned(
    wanted: retypes.Wanted,
) -> Callable[[records.Volume], outcomes.Outcome]:
    """Return a function that describes the planned action for a volume."""

    def planned(volume: records.Volume) -> outcomes.Outcome:
        about = retypes.about(volume)
        unchanged = outcomes.Status.UNCHANGED
        if volume.volume_type == wanted.target:
            return dataclasses.replace(about, status=unchanged)
        detail = f'retype to {wanted.target}'
        if retype_rules.is_running(volume):
            detail = f'wait for status {volume.status}, then {detail}'
        else:
            try:
                retype_rules.check(volume, wanted.former)
            except outcomes.Refused as error:
                return about.refused(error)
        if volume.status == 'in-use':
            detail += '; refused if it changes more than image features'
        return dataclasses.replace(about, detail=detail)

    return planned


@contextlib.contextmanager
def _health(
    service: volume_service.VolumeService, parsed_args: argparse.Namespace
) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether the cluster is healthy.

    Without access to Ceph, the function always returns True.

    :raises NotConnected: if the cluster or the user cannot be reached
    :raises HealthUnknown: if the user may not read the health
    :raises ValueError: if the cluster is known not to be that of the cloud
    """
    obstacle = _no_access(parsed_args)
    if obstacle:
        maintenance.say(f'The health of Ceph is not read: {obstacle}')
    if obstacle is not None:
        yield lambda: True
        return
    cluster = ceph_cluster.connected(parsed_args, _TIMEOUT)
    with cluster.connection() as connection:
        _check_cluster(service, parsed_args.ceph_conf, connection.get_fsid())
        watch = health.Watch(connection, maintenance.say)
        watch.is_healthy()
        yield watch.is_healthy


def _check_cluster(
    service: volume_service.VolumeService, conf: str, fsid: str
) -> None:
    used = service.clusters()
    if used and fsid not in used:
        raise ValueError(
            f'{conf} is that of the cluster {fsid}. The running back ends of '
            f'this cloud use {", ".join(sorted(used))}. Give the file of '
            'their cluster with --ceph-conf, or use --ignore-health.'
        )


def _no_access(parsed_args: argparse.Namespace) -> str | None:
    """Return why the health is not read; empty if the user disabled it."""
    if parsed_args.ignore_health:
        return ''
    if not pathlib.Path(parsed_args.ceph_conf).exists():
        return f'there is no {parsed_args.ceph_conf}.'
    try:
        ceph_cluster.connected(parsed_args)
    except RuntimeError as error:
        return str(error)
    return None
