# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext object-map``: object maps of existing images."""

import argparse
from typing import Any

from rbd_volume_tools.audit import ceph_cluster
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import projects
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import map_changes
from rbd_volume_tools.fleet import recorded
from rbd_volume_tools.fleet import selection


class _ObjectMap(maintenance.Command):
    """A command for selected images."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'volume',
            metavar='<volume-id>',
            nargs='*',
            help='Volume; the options --volume-type and --project narrow the '
            'choice',
        )
        parser.add_argument(
            '--volume-type',
            metavar='<name>',
            action='append',
            default=[],
            help='Volumes of this type; repeat the option for several types',
        )
        projects.add(parser, 'Volumes of this project')
        parser.add_argument(
            '--volumes', action='store_true', help='All volumes'
        )
        parser.add_argument(
            '--images', action='store_true', help='Images of Glance'
        )
        parser.add_argument(
            '--servers',
            action='store_true',
            help='Disks of servers that are not volumes',
        )
        parser.add_argument(
            '--pool',
            metavar='<pool>',
            action='append',
            help='Only images of this Ceph pool; repeat the option for '
            'several pools (default: all pools with the application rbd). '
            'Without another choice: all volumes, Glance images and disks of '
            'servers in the pool',
        )
        return parser

    def targets(
        self,
        parsed_args: argparse.Namespace,
        chosen: selection.Selection,
        cluster: Any,
        known: Any,
    ) -> tuple[list[selection.Target], list[Any]]:
        """Return the selected images, and the outcomes of unreadable ones.

        :raises ValueError: if a volume has no image, or there is no such
            volume type
        """
        for name in sorted(chosen.types - known.types.keys()):
            raise ValueError(
                f'There is no volume type {name}. Volume types: '
                f'{", ".join(sorted(known.types)) or "none"}.'
            )
        pools = parsed_args.pool or cluster.pools()
        with progress.shown(self.app.stderr) as show:
            chosen_images, unreadable = selection.targets(
                cluster, pools, known, chosen, show
            )
        seen = {
            *((each.image.pool, each.image.name) for each in chosen_images),
            *(each[:2] for each in unreadable),
        }
        missing = chosen.missing(known, {name for _, name in seen})
        if missing:
            forbidden = [pool for pool, name, _ in unreadable if not name]
            raise ValueError(
                f'No image was found for: {", ".join(missing)}. Check the '
                'IDs, the other options and the pools.'
                + (
                    f' client.{parsed_args.ceph_user} may not read the pools '
                    f'{", ".join(forbidden)}.'
                    if forbidden
                    else ''
                )
            )
        if chosen.has_all(known, seen):
            unreadable = [each for each in unreadable if each[1]]
        return chosen_images, [
            map_changes.unreadable(*each) for each in unreadable
        ]


class Check(_ObjectMap):
    """List the state of the object maps of images and their snapshots.

    Nothing is changed. The exit status is 0 if all maps are valid, 1 if a map
    is invalid or missing, 2 if an image or a pool could not be read, and 3 if
    the command failed.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        shell: Any = self.app
        cluster = ceph_cluster.connected(parsed_args)
        cloud = shell.administrator()
        chosen, known = _chosen(parsed_args, cloud, cluster.fsid())
        chosen_images, unreadable = self.targets(
            parsed_args, chosen, cluster, known
        )
        return self.rows([*unreadable, *map_changes.checked(chosen_images)])


class _Change(_ObjectMap):
    """A command that changes object maps."""

    _action: decisions.Action

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='Show what would be done; change nothing',
        )
        maintenance.add_change_options(parser)
        maintenance.add_bytes_option(parser)
        if self._action is not decisions.Action.REBUILD:
            parser.add_argument(
                '--cinder-config',
                metavar='<file>',
                help='cinder.conf with the connection to the database, to '
                'correct the recorded features of volumes that have a record. '
                'Without it, these volumes are not changed',
            )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        if not parsed_args.dry_run and parsed_args.journal is None:
            raise ValueError('--journal is required without --dry-run.')
        shell: Any = self.app
        config = getattr(parsed_args, 'cinder_config', None)
        record = None
        if config:
            # First, because its errors do not show the secrets of the file.
            stored = databases.Databases(config)
            record = recorded.recorder(config)
        cluster = ceph_cluster.connected(parsed_args)
        cloud = shell.administrator()
        chosen, known = _chosen(parsed_args, cloud, cluster.fsid())
        if config:
            maintenance.require_volumes(stored, config, known)
        chosen_images, unreadable = self.targets(
            parsed_args, chosen, cluster, known
        )
        planned = [
            *unreadable,
            *map_changes.planned(
                self._action,
                chosen_images,
                known,
                cluster,
                records.CloudNow(cloud).volume,
                record,
            ),
        ]
        if parsed_args.dry_run:
            return self.rows(maintenance.dry(planned))
        name = f'object-map {self._action.value}'
        return self.changed(parsed_args, name, cluster, planned)


class Enable(_Change):
    """Enable and rebuild the object maps of existing images.

    The exclusive lock is enabled first if it is missing, then the object map
    with fast-diff. The maps of the image and of each snapshot are rebuilt and
    verified. The exit status is 0 if all chosen images have valid maps, 1 if
    an image was refused, 2 if a change failed, and 3 if the command failed or
    was interrupted.
    """

    _action = decisions.Action.ENABLE


class Disable(_Change):
    """Disable the object maps of existing images, and fast-diff.

    The exclusive lock stays enabled. The exit status is 0 if no chosen image
    has a map, 1 if an image was refused, 2 if a change failed, and 3 if the
    command failed or was interrupted.
    """

    _action = decisions.Action.DISABLE


class Rebuild(_Change):
    """Rebuild the invalid object maps of images and their snapshots.

    The exit status is 0 if all chosen images have valid maps, 1 if an image
    was refused, 2 if a change failed, and 3 if the command failed or was
    interrupted.
    """

    _action = decisions.Action.REBUILD


def _chosen(
    parsed_args: argparse.Namespace, cloud: Any, fsid: str
) -> tuple[selection.Selection, records.Records]:
    """Return the selection of the options, and the cloud's records.

    :raises ValueError: if no option selects images
    :raises ValueError: if there is no such project
    """
    narrow = bool(
        parsed_args.volume or parsed_args.volume_type or parsed_args.project
    )
    wide = parsed_args.volumes or parsed_args.images or parsed_args.servers
    everything = bool(parsed_args.pool) and not (narrow or wide)
    if not (narrow or wide or everything):
        raise ValueError(
            'Choose images: volume IDs, --volume-type, --project, --volumes, '
            '--images, --servers or --pool.'
        )
    if narrow and parsed_args.volumes:
        raise ValueError('--volumes already includes all volumes.')
    selected = projects.selected(cloud, parsed_args.project)
    known = records.of_cloud(cloud, fsid)
    selected.check({each.project for each in known.volumes.values()})
    chosen = selection.Selection(
        frozenset(parsed_args.volume),
        frozenset(parsed_args.volume_type),
        selected.idents,
        parsed_args.volumes or everything,
        parsed_args.images or everything,
        parsed_args.servers or everything,
    )
    return chosen, known
