# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext types plan`` and ``apply``: volumes get their type's keys.

No data is removed or copied: the driver compares the metadata of RBD images
with the keys of the volume and its type, and changes entries that differ.
"""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import retype_commands
from rbd_volume_tools.fleet import retype_rules
from rbd_volume_tools.fleet import retypes
from rbd_volume_tools.fleet import volume_service


@dataclasses.dataclass(frozen=True)
class _Change:
    """The comparison of a volume with its type."""

    item: retypes.VolumeItem
    service: volume_service.VolumeService
    size: int = 0
    percent: int | None = None

    @property
    def outcome(self) -> outcomes.Outcome:
        """The volume, planned."""
        return self.item.outcome

    def apply(self, connection: Any, ioctx: Any, ours: frozenset[str]) -> str:
        """Let the driver compare the volume with its type.

        :raises Refused: if it could not be changed
        :raises NotAnswered: if the API does not answer
        """
        try:
            warning = self.service.apply_type(self.item.volume)
        except retypes.Refusal as error:
            raise outcomes.Refused(
                retype_rules.BY_CINDER, str(error)
            ) from error
        except retypes.Unavailable as error:
            raise outcomes.NotAnswered(
                f'the API did not answer: {error}'
            ) from error
        if warning:
            raise outcomes.Refused(retype_rules.BY_CINDER, warning)
        return 'as its type'


class _Types(maintenance.Command):
    """A command for the volumes of a type."""

    noun = 'types'
    what = 'volumes'
    needs_ceph = False
    columns = retype_commands.PlanRetypes.columns


class PlanTypes(_Types, maintenance.PlanCommand):
    """Find the volumes of a type, and write a plan.

    Nothing is changed.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'type', metavar='<type>', help='Volume type (name or ID)'
        )
        return parser

    def planned(
        self, parsed_args: argparse.Namespace, cloud: Any, cluster: Any
    ) -> tuple[Mapping[str, Any], Iterable[maintenance.Planned]]:
        answers.need_extension(cloud.block_storage)
        service = volume_service.VolumeService(cloud.block_storage)
        name = service.type_of(parsed_args.type).name
        return {}, [
            _Change(
                retypes.VolumeItem(
                    each.ident, each.project, f'compare with {name}'
                ),
                service,
            )
            for each in service.volumes()
            if each.volume_type == name
        ]


class ApplyTypes(_Types, maintenance.ApplyCommand):
    """Give the volumes of a plan the limits and hints that their type has now.

    Volumes that are in use get them too, within seconds. The exit status is 1
    if a volume could not be changed, 2 if the API did not answer for one, and
    3 if the command failed or was interrupted.
    """

    item_class = retypes.VolumeItem

    def changes(self, work: maintenance.Work) -> Sequence[_Change]:
        answers.need_extension(work.cloud.block_storage)
        service = volume_service.VolumeService(work.cloud.block_storage)
        return [_Change(each, service) for each in work.items]
