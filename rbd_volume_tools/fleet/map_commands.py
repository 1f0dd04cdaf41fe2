# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext object-map``: object maps of existing images."""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from rbd_volume_tools.audit import changes
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import projects
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import map_changes
from rbd_volume_tools.fleet import selection


class PlanMaps(maintenance.PlanCommand):
    """Find images whose object maps have to change, and write a plan.

    Nothing is changed. ``enable`` adds the exclusive lock if it is missing,
    then the object map with fast-diff, and rebuilds the maps of the image and
    of each snapshot. ``disable`` keeps the exclusive lock. ``rebuild``
    rebuilds invalid maps only. Features that Cinder has recorded for a volume
    are changed by a retype. The exit status is 0 if no image was refused, 1 if
    one was, 2 if an image or a pool could not be read, and 3 if the command
    failed.
    """

    noun = 'object-map'

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
        parser.add_argument(
            '--action',
            choices=[each.value for each in decisions.Action],
            default=decisions.Action.ENABLE.value,
            help='Change of the object maps (default: %(default)s)',
        )
        return parser

    def planned(
        self, parsed_args: argparse.Namespace, cloud: Any, cluster: Any
    ) -> tuple[Mapping[str, Any], Iterable[outcomes.Outcome]]:
        chosen, known = _chosen(parsed_args, cloud, cluster.fsid())
        chosen_images, unreadable = self._targets(
            parsed_args, chosen, cluster, known
        )
        planned = map_changes.planned(
            decisions.Action(parsed_args.action), chosen_images, known
        )
        return {'action': parsed_args.action}, [*unreadable, *planned]

    def _targets(
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
            outcomes.unreadable(*each) for each in unreadable
        ]


class ApplyMaps(maintenance.ApplyCommand):
    """Change the object maps that a plan lists, and verify them.

    Each image is looked at again before its change.
    """

    noun = 'object-map'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        maintenance.add_bytes_option(parser)
        return parser

    def maker(
        self, parsed_args: argparse.Namespace, work: changes.Run
    ) -> changes.Make:
        return map_changes.MapChanges(
            decisions.Action(work.plan.options['action']),
            *(work.known, work.cluster),
            records.CloudNow(work.cloud).volume,
        ).make


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
