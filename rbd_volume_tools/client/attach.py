# SPDX-License-Identifier: Apache-2.0

"""The command ``openstack volume rbd attach``."""

import argparse
import dataclasses
from typing import Any

from openstack import utils
import openstack.exceptions
from osc_lib import exceptions
from osc_lib.command import command

from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options.families import cache_modes
from rbd_volume_tools.client import metadata
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import columns
from rbd_volume_tools.command_line import printable

#: The first microversion of Nova that attaches multi-attach volumes, and
#: volumes to shelved servers.
_COMPUTE = '2.60'
_OFFLOADED = 'SHELVED_OFFLOADED'
#: The columns of the result.
COLUMNS = (
    'server_id',
    'volume_id',
    'device',
    'attachment_id',
    'asked_cache_mode',
    'cache_mode',
)

Record = dict[str, Any]

_INSTEAD = (
    'Without it the result of an attachment cannot be read. Use "openstack '
    'volume set --property rbd:cache_mode=MODE" and "openstack server add '
    'volume"'
)


class NotAttached(exceptions.CommandError):
    """The volume was not attached to the server; the text has the reason."""


@dataclasses.dataclass
class Attachment:
    """The attachment of a volume to a server.

    :ivar storage: Cinder's API
    :ivar compute: Nova's API
    """

    storage: Any
    compute: Any
    volume_id: str
    server_id: str

    def make(
        self, mode: str | None, device: str | None, seconds: int | None
    ) -> tuple[Any, ...]:
        """Set the mode, attach the volume and return the result.

        :param mode: None for that of the volume
        :param seconds: to wait for the attachment; None not to wait
        :raises NotAttached: if the volume is not attached; it has its former
            mode then
        :raises CommandError: if Cinder refuses the mode, or the time expires
        """
        before = self._volume()
        asked_before = before['metadata'].get(keys.CACHE_MODE)
        changes = mode is not None and mode != asked_before
        if changes:
            self._set_mode(mode)
        try:
            self._request(device)
            volume = before
            if seconds is not None and not self._is_offloaded():
                refused = before.get(image_record.ATTRIBUTE_ATTACH_REFUSED)
                volume = self._wait(seconds, refused)
        except NotAttached as error:
            if changes:
                self._put_back(asked_before, error)
            raise
        made = self._of_server(volume) or {}
        ident = made.get('attachment_id')
        return (
            self.server_id,
            self.volume_id,
            made.get('device'),
            ident,
            mode or asked_before,
            (volume.get(definitions.ATTRIBUTE_CACHE_MODES) or {}).get(ident),
        )

    def _volume(self) -> Record:
        volume: Record = answers.record(
            self.storage.get(f'/volumes/{self.volume_id}')
        )['volume']
        return volume

    def _set_mode(self, mode: str | None) -> None:
        """Set the requested cache mode of the volume; None to unset it."""
        path = f'/volumes/{self.volume_id}/metadata'
        if mode is None:
            response = self.storage.delete(f'{path}/{keys.CACHE_MODE}')
            if response.status_code < 400:
                return
        else:
            body = {'metadata': {keys.CACHE_MODE: mode}}
            response = self.storage.post(path, json=body)
        answers.record(response)

    def _put_back(self, mode: str | None, why: NotAttached) -> None:
        """Undo the change of the mode, and report a failure to do so."""
        try:
            self._set_mode(mode)
        except exceptions.CommandError as error:
            raise NotAttached(
                f'{why}. Could not restore {keys.CACHE_MODE} of the volume to '
                f'{printable.value(mode)}: {error}'
            ) from error

    def _request(self, device: str | None) -> None:
        """Request the attachment from Nova, which performs it asynchronously.

        :raises NotAttached: if Nova refuses
        """
        body = {'volumeId': self.volume_id}
        if device:
            body['device'] = device
        try:
            answers.record(
                self.compute.post(
                    f'/servers/{self.server_id}/os-volume_attachments',
                    json={'volumeAttachment': body},
                    microversion=_COMPUTE,
                )
            )
        except exceptions.CommandError as error:
            raise NotAttached(str(error)) from error

    def _wait(self, seconds: int, refused_before: Record | None) -> Record:
        """Wait until the volume is attached; return the volume.

        :param refused_before: the last refusal that was recorded before
        """
        try:
            for _ in utils.iterate_timeout(seconds, 'late', wait=1):
                volume = self._volume()
                if self._of_server(volume):
                    return volume
                if not self._is_pending():
                    # The reason may have been recorded after the last query.
                    raise NotAttached(_reason(self._volume(), refused_before))
        except openstack.exceptions.ResourceTimeout as error:
            raise exceptions.CommandError(
                f'Volume {self.volume_id} was not attached within {seconds} '
                f'seconds. Its status is '
                f'{printable.text(self._volume()["status"])}, and Nova may '
                f'still attach it'
            ) from error
        raise AssertionError('iterate_timeout returned')

    def _of_server(self, volume: Record) -> Record | None:
        """Return the attachment to the server from the data of a volume."""
        for each in volume['attachments']:
            if each['server_id'] == self.server_id:
                attachment: Record = each
                return attachment
        return None

    def _is_pending(self) -> bool:
        """Return whether Nova lists the volume as a volume of the server."""
        path = f'/servers/{self.server_id}/os-volume_attachments'
        response = self.compute.get(f'{path}/{self.volume_id}')
        if response.status_code == 404:
            return False
        answers.record(response)
        return True

    def _is_offloaded(self) -> bool:
        """Return whether the server is on no host (shelved offloaded)."""
        path = f'/servers/{self.server_id}'
        status = answers.record(self.compute.get(path))['server']['status']
        return bool(status == _OFFLOADED)


def _reason(volume: Record, refused_before: Record | None) -> str:
    """Return why a volume was not attached, if the reason is known."""
    refused = volume.get(image_record.ATTRIBUTE_ATTACH_REFUSED)
    if refused and refused != refused_before:
        reason = printable.text(refused['reason'])
        return f'Volume {volume["id"]} was not attached: {reason}'
    return (
        f'Volume {volume["id"]} was not attached, but Cinder did not refuse '
        f'it. See "openstack server event list" and the log of nova-compute'
    )


class AttachRBDVolume(command.ShowOne):
    """Attach a volume to a server, with a cache mode.

    Shows the cache mode of the attachment. It is empty if the compute host
    selected the mode. If the volume is not attached, the previous mode of the
    volume is restored.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = metadata.short_errors(super().get_parser(prog_name))
        add = parser.add_argument
        add('server', metavar='<server>', help='Server (name or ID)')
        add('volume', metavar='<volume>', help='Volume (name or ID)')
        add(
            '--cache-mode',
            choices=[mode.value for mode in cache_modes.CacheMode],
            help=(
                'Cache mode to set on the volume, for this attachment and '
                'later ones. Default: the mode that is set on the volume.'
            ),
        )
        add('--device', metavar='<device>', help='Device, such as /dev/vdb')
        add(
            '--wait',
            action=argparse.BooleanOptionalAction,
            default=True,
            help=(
                'Wait until the volume is attached. With --no-wait the '
                'command does not show a refusal by the compute host, and '
                'does not restore the previous mode. Default: --wait.'
            ),
        )
        add(
            '--timeout',
            metavar='<seconds>',
            type=int,
            default=300,
            help='Maximum time to wait. Default: 300.',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        cloud = self.app.client_manager.sdk_connection
        answers.need_extension(cloud.block_storage, _INSTEAD)
        volume = cloud.block_storage.find_volume(
            parsed_args.volume, ignore_missing=False
        )
        server = cloud.compute.find_server(
            parsed_args.server, ignore_missing=False
        )
        attachment = Attachment(
            cloud.block_storage, cloud.compute, volume.id, server.id
        )
        seconds = parsed_args.timeout if parsed_args.wait else None
        return COLUMNS, columns.row(
            *attachment.make(
                parsed_args.cache_mode, parsed_args.device, seconds
            )
        )
