# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext retype``, and ``types plan`` and ``types apply``.

No data is removed or copied by ``types apply``: the driver compares the
metadata of RBD images with the keys of the volume and its type, and changes
entries that differ.
"""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import pathlib
from typing import Any

from rbd_volume_tools.audit import changes
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import ceph_arguments
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import projects
from rbd_volume_tools.fleet import retypes
from rbd_volume_tools.fleet import volume_service

# Timeout of Ceph operations in seconds. The command only reads the health.
_TIMEOUT = 30
_UNSEEN = (
    'The user is not an administrator of the cloud: the volumes of other '
    'projects were not seen, and keep their type. Use the cloud or the OS_* '
    'variables of an administrator, or name the volumes.'
)


class _Volumes(maintenance.Command):
    """A command for volumes that Cinder changes."""

    what = 'volumes'
    needs_ceph = False
    columns: Mapping[str, str] = {
        'Volume': 'volume',
        'Project': 'project',
        'Detail': 'detail',
        'What to do': 'remedy',
    }


class PlanTypes(_Volumes, maintenance.PlanCommand):
    """Find the volumes of a type, and write a plan.

    Nothing is changed.
    """

    noun = 'types'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'type', metavar='<type>', help='Volume type (name or ID)'
        )
        return parser

    def planned(
        self, parsed_args: argparse.Namespace, cloud: Any, cluster: Any
    ) -> tuple[Mapping[str, Any], Iterable[outcomes.Outcome]]:
        answers.need_extension(cloud.block_storage)
        service = volume_service.VolumeService(cloud.block_storage)
        name = service.type_of(parsed_args.type)['name']
        detail = f'compare with {name}'
        return {}, [
            retypes.planned(each.ident, each.project, detail)
            for each in service.volumes()
            if each.volume_type == name
        ]


class ApplyTypes(_Volumes, maintenance.ApplyCommand):
    """Give the volumes of a plan the limits and hints that their type has now.

    Volumes that are in use get them too, within seconds. The exit status is 1
    if a volume could not be changed, 2 if the API did not answer for one, and
    3 if the command failed or was interrupted.
    """

    noun = 'types'

    def maker(
        self, parsed_args: argparse.Namespace, work: changes.Run
    ) -> changes.Make:
        answers.need_extension(work.cloud.block_storage)
        service = volume_service.VolumeService(work.cloud.block_storage)
        return lambda item, ioctx, ours: _as_its_type(service, item.ident)


def _as_its_type(service: volume_service.VolumeService, ident: str) -> str:
    """Let the driver compare a volume with its type.

    :raises Refused: if it could not be changed
    :raises NotAnswered: if the API does not answer
    """
    if warning := service.apply_type(ident):
        raise outcomes.Refused(volume_service.BY_CINDER, warning)
    return 'as its type'


class _Retype(_Volumes):
    """A command also for a user who is no administrator."""

    noun = 'retype'

    def cloud(self) -> Any:
        """Return the cloud."""
        shell: Any = self.app
        return shell.cloud()


class PlanRetypes(_Retype, maintenance.PlanCommand):
    """Find volumes to retype, and write a plan.

    Nothing is changed. Volumes that have the new type are left out. The exit
    status is 1 if a volume is refused, or if the user is not an administrator:
    Cinder then lists the volumes of the user's project only, unless the
    volumes are named.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
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
            '--migration-policy',
            choices=['never', 'on-demand'],
            default='never',
            help='Whether Cinder may migrate a volume that is not converted. '
            'A migration copies the data through the host of cinder-volume '
            '(default: %(default)s)',
        )
        return parser

    def planned(
        self, parsed_args: argparse.Namespace, cloud: Any, cluster: Any
    ) -> tuple[Mapping[str, Any], Iterable[outcomes.Outcome]]:
        service = volume_service.VolumeService(cloud.block_storage)
        if not parsed_args.volume and not service.is_administrators():
            maintenance.say(_UNSEEN)
            self.least = exit_status.ATTENTION
        former = service.type_of(parsed_args.former)
        target = service.type_of(parsed_args.target)
        if former['id'] == target['id']:
            raise ValueError(
                f'--from and --to are the same type: {former["name"]}.'
            )
        wanted = retypes.Wanted(
            *(former['name'], target['name'], target['id']),
            parsed_args.migration_policy,
            retypes.unset(
                *(each.get('extra_specs') or {} for each in (former, target))
            ),
        )
        if wanted.unset:
            maintenance.say(
                f'{wanted.target} does not set {", ".join(wanted.unset)}. A '
                'volume keeps what its project may request with '
                f'{wanted.target}, and otherwise gets the default of the back '
                'end. The result says what each volume keeps.'
            )
        selected = projects.selected(cloud, parsed_args.project)
        volumes = _chosen(service, wanted, selected, parsed_args.volume)
        return dataclasses.asdict(wanted), [
            _planned(wanted, each) for each in volumes
        ]


class ApplyRetypes(_Retype, maintenance.ApplyCommand):
    """Retype the volumes of a plan through Cinder's API, a few at once.

    The exit status is 0 if nothing is left to do, 1 if a retype was refused, 2
    if one failed, and 3 if the command failed or was interrupted.
    """

    stopping = (
        'No more retypes begin. Cinder completes those that it has accepted.'
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        ceph_arguments.add(parser)
        parser.add_argument(
            '--at-once',
            metavar='<number>',
            type=maintenance.count,
            default=4,
            help='Maximum number of retypes at the same time (default: '
            '%(default)s)',
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
            'retype begins while it reports health checks such as '
            'PG_DEGRADED, SLOW_OPS or OSD_NEARFULL',
        )
        return parser

    def cluster(self, parsed_args: argparse.Namespace) -> Any:
        """Return the cluster whose health is read; None without Ceph."""
        if parsed_args.ignore_health:
            return None
        why = f'there is no {parsed_args.ceph_conf}.'
        if pathlib.Path(parsed_args.ceph_conf).exists():
            try:
                return scan.of_options(parsed_args, _TIMEOUT)
            except RuntimeError as error:
                why = str(error)
        maintenance.say(f'The health of Ceph is not read: {why}')
        return None

    def maker(
        self, parsed_args: argparse.Namespace, work: changes.Run
    ) -> changes.Make:
        service = volume_service.VolumeService(work.cloud.block_storage)
        if work.cluster:
            _check_cluster(
                *(service, parsed_args.ceph_conf, work.cluster.fsid())
            )
        options = work.plan.options
        wanted = retypes.Wanted(
            **{**options, 'unset': tuple(options['unset'])}
        )
        patience = parsed_args.patience * 60
        return lambda item, ioctx, ours: retypes.Retype(
            *(item.ident, service, wanted, work, patience)
        ).make()


def _chosen(
    service: volume_service.VolumeService,
    wanted: retypes.Wanted,
    selected: projects.Projects,
    idents: Sequence[str],
) -> list[records.Volume]:
    """Return the volumes that the options select.

    :param idents: of the named volumes; empty for all of the former type
    :raises ValueError: if a volume or a project does not exist, or a volume is
        not of the projects that were chosen
    """

    def is_chosen(volume: records.Volume) -> bool:
        return not selected.idents or volume.project in selected.idents

    if not idents:
        volumes = list(service.volumes())
        selected.check({each.project for each in volumes})
        return [
            each
            for each in volumes
            if is_chosen(each) and each.volume_type == wanted.former
        ]
    shown = {ident: service.show(ident) for ident in idents}
    missing = [ident for ident, each in shown.items() if each is None]
    if missing:
        raise ValueError(f'There is no volume {", ".join(missing)}.')
    volumes = [each for each in shown.values() if each is not None]
    others = [each.ident for each in volumes if not is_chosen(each)]
    if others:
        raise ValueError(
            f'Not of a project of --project: {", ".join(others)}.'
        )
    return volumes


def _planned(
    wanted: retypes.Wanted, volume: records.Volume
) -> outcomes.Outcome:
    """Return the planned retype of a volume, or why there is none."""
    detail = f'retype to {wanted.target}'
    item = retypes.planned(volume.ident, volume.project, detail)
    if volume.volume_type == wanted.target:
        return dataclasses.replace(
            item,
            status=outcomes.Status.UNCHANGED,
            detail='has the type already',
        )
    if retypes.is_running(volume):
        detail = f'wait for status {volume.status}, then {detail}'
    else:
        try:
            wanted.check(volume)
        except outcomes.Refused as error:
            return item.refused(error)
    if volume.status == 'in-use':
        detail += '; refused if it changes more than image features'
    return dataclasses.replace(item, detail=detail)


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
