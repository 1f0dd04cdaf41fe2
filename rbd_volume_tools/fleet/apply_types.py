# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext types apply``: gives volumes the keys of their type.

No data is removed or copied: the driver compares the metadata of RBD images
with the keys of the volume and its type, and changes entries that differ.
After an interruption, the same command continues.
"""

import argparse
import threading
from typing import Any

from rbd_volume_tools.audit import changes as run
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.fleet import retypes
from rbd_volume_tools.fleet import volume_service

_STOPPING = 'No more volumes are changed.'


class ApplyTypes(exit_status.StatusLister):
    """Give volumes the limits and hints that their type has now.

    Volumes that are in use get them too, within seconds. The result lists the
    volumes that could not be changed. The exit status is 0 if there are none,
    2 if there are, and 3 if the command failed or was interrupted.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            'type', metavar='<type>', help='Volume type (name or ID)'
        )
        parser.add_argument(
            '--rate',
            metavar='<number>',
            type=maintenance.number_from(0, above=True),
            help='Maximum number of volumes in a minute (default: no limit)',
        )
        return parser

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return ('Volume', 'Reason')

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        shell: Any = self.app
        storage = shell.administrator().block_storage
        answers.need_extension(storage)
        service = volume_service.VolumeService(storage)
        name = service.type_of(parsed_args.type).name
        volumes = [
            each.ident
            for each in service.volumes()
            if each.volume_type == name
        ]
        stop = threading.Event()
        paced = pace.Pace(stop, parsed_args.rate)
        failed: list[tuple[str, ...]] = []
        done = 0
        with (
            progress.shown(self.app.stderr) as show,
            run.stoppable(stop, maintenance.say, _STOPPING),
        ):
            for ident in volumes:
                if not paced.wait():
                    break
                paced.begun(0)
                reason = _applied(service, ident)
                done += 1
                if reason:
                    failed.append((ident, printable.text(reason)))
                show(name, done, len(volumes))
        if stop.is_set():
            self.status = exit_status.COMMAND
        elif failed:
            self.status = exit_status.FAILED
        maintenance.say(
            f'{done} of {len(volumes)} volumes of {name}; '
            f'{len(failed)} could not be changed.'
        )
        return self.headers(parsed_args), failed


def _applied(service: volume_service.VolumeService, ident: str) -> str:
    """Let the driver compare a volume with its type; return what failed."""
    try:
        return service.apply_type(ident)
    except retypes.Refusal as error:
        return str(error)
    except retypes.Unavailable as error:
        return f'the API did not answer: {error}'
