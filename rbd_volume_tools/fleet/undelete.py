# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext fleet undelete``: restores a deleted volume.

The image of a deleted volume whose type has ``rbd:keep_deleted`` waits in the
trash of its pool, with a mark that has what Cinder needs to manage it again.
Cinder's own record stays deleted: the volume gets a new ID.

=======  ==============================  =====================================
Step     Before it                       After a kill
=======  ==============================  =====================================
restore  The image is in the trash.      The same, or the image has its name,
                                         and no volume. The same command goes
                                         on; ``manage`` needs only the name.
manage   The image has its name.         Cinder manages it or not. If it does,
                                         the image has the name of the volume.
details  The volume is available.        It lacks the metadata of its Glance
                                         image.
=======  ==============================  =====================================

If Cinder refuses the volume, the image goes back to the trash until the same
time.
"""

import argparse
from collections.abc import Iterator
import contextlib
import dataclasses
import datetime
import time
from typing import Any

from osc_lib import exceptions

from rbd_volume_options import image_handles
from rbd_volume_options import sizes
from rbd_volume_options import trash_mark
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import ceph_arguments
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import plan_file

#: Seconds between two queries of the volume, and until it must be available.
INTERVAL = 1.0
PATIENCE = 300.0
# The purger may remove it at any moment then.
_MARGIN = datetime.timedelta(minutes=1)
_MICROVERSION = '3.16'
_MANAGING = frozenset({'creating', 'managing'})

NOT_KEPT = outcomes.Reason(
    'not-kept',
    'no pool has it in the trash',
    'Check the ID, and rbd:keep_deleted of its type. Without a volume, the '
    'command lists what can be restored. Restore the data from a backup.',
)
SOURCE = outcomes.Reason(
    'children',
    'its image is kept for clones, which were made from it',
    'Create a volume from one of the clones.',
)
EXPIRED = outcomes.Reason(
    'expired',
    'its time in the trash is over, and it is being removed',
    'Restore the data from a backup.',
)
NO_ROLE = outcomes.Reason(
    'no-role',
    'the user has no role in its project',
    'Add it: openstack role add --user <user> --project <project> admin.',
)
BY_CINDER = outcomes.Reason(
    'refused-by-cinder',
    'Cinder does not manage the image',
    'Correct what the message names, such as the quota of the project, and '
    'run the command again.',
)


@dataclasses.dataclass(frozen=True)
class Kept:
    """A deleted volume whose image is in the trash.

    :ivar mark: has the record
    """

    entry: objects.Trashed
    mark: trash_mark.Mark


def kept(cluster: scan.Cluster, pool: str) -> list[Kept]:
    """Return the deleted volumes that can be restored from a pool."""
    with cluster.connected(pool) as (_, ioctx):
        return [
            Kept(each, each.mark)
            for each in objects.trash(cluster.librados, ioctx, pool)
            if each.mark
            and each.mark.kind == trash_mark.DELETED
            and each.mark.record
        ]


@dataclasses.dataclass(frozen=True)
class Restoration:
    """The restoration of a volume.

    :ivar storage: Cinder's API in the project of the volume
    """

    volume: Kept
    cluster: scan.Cluster
    storage: Any

    def run(self) -> str:
        """Restore the volume and return its new ID.

        :raises Refused: if it cannot be restored; it is in the trash then
        :raises NotVerified: if Cinder has accepted it and failed
        """
        entry = self.volume.entry
        with (
            self.cluster.connected(entry.pool) as (_, ioctx),
            self._restored(ioctx),
        ):
            ident = self._managed()
        self._complete(ident)
        return ident

    @contextlib.contextmanager
    def _restored(self, ioctx: Any) -> Iterator[None]:
        """Restore the image; after a refusal, it goes back to the trash."""
        entry, librbd = self.volume.entry, self.cluster.librbd
        if entry.expires - _MARGIN <= plan_file.now() or not entry.is_settled:
            raise outcomes.Refused(EXPIRED, f'{entry.expires:%Y-%m-%d %H:%M}')
        librbd.RBD().trash_restore(ioctx, entry.ident, entry.name)
        try:
            yield
        except BaseException:
            left = entry.expires - plan_file.now()
            named = objects.id_of(self.cluster.librados, ioctx, entry.name)
            # Cinder may have given it the name of the volume.
            if named and named[0] == entry.ident:
                mark = dataclasses.replace(self.volume.mark, at=time.time())
                trash_mark.write(ioctx, entry.ident, mark)
                librbd.RBD().trash_move(
                    ioctx, entry.name, max(0, int(left.total_seconds()))
                )
            raise

    def _managed(self) -> str:
        """Have Cinder manage the image; return the ID of the volume."""
        record = dict(self.volume.mark.record)
        record.pop('image_metadata', None)
        # Cinder takes one of them.
        if record.get('cluster'):
            record.pop('host', None)
        body = {name: value for name, value in record.items() if value}
        body['ref'] = {'source-name': self.volume.entry.name}
        body.setdefault('bootable', False)
        try:
            shown = answers.record(
                self.storage.post(
                    '/manageable_volumes',
                    json={'volume': body},
                    microversion=_MICROVERSION,
                )
            )
        except exceptions.CommandError as error:
            raise outcomes.Refused(BY_CINDER, str(error)) from error
        ident = str(shown['volume']['id'])
        until = time.monotonic() + PATIENCE
        status = 'managing'
        while status in _MANAGING:
            if time.monotonic() > until:
                raise outcomes.NotVerified(
                    f'volume {ident} is {status}',
                    'See the log of cinder-volume.',
                )
            time.sleep(INTERVAL)
            shown = answers.record(self.storage.get(f'/volumes/{ident}'))
            status = shown['volume']['status']
        if status != 'available':
            raise outcomes.Refused(
                BY_CINDER,
                f'volume {ident} is {status}; see the log of cinder-volume, '
                'and delete the record: openstack volume delete',
            )
        return ident

    def _complete(self, ident: str) -> None:
        """Give the volume the metadata of its Glance image."""
        metadata = self.volume.mark.record.get('image_metadata')
        if metadata:
            action = {'os-set_image_metadata': {'metadata': metadata}}
            answers.record(
                self.storage.post(f'/volumes/{ident}/action', json=action)
            )


class Undelete(exit_status.StatusLister):
    """Restore a deleted volume for its project, or list such volumes.

    Only volumes whose type has rbd:keep_deleted can be restored, for that
    time. The volume gets a new ID, and keeps its name, type and metadata. The
    user needs a role in its project, whose quota applies. The exit status is 1
    if it cannot be restored, and says why.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        ceph_arguments.add(parser)
        parser.add_argument(
            'volume',
            metavar='<volume-id>',
            nargs='?',
            help='Volume to restore (default: list the volumes that can be '
            'restored)',
        )
        parser.add_argument(
            '--pool',
            metavar='<pool>',
            action='append',
            help='Ceph pool to look in; repeat the option for several pools '
            '(default: all pools with the application rbd)',
        )
        return parser

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return ('Volume', 'Name', 'Project', 'Size', 'Until', 'Result')

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        shell: Any = self.app
        cloud = shell.administrator()
        cluster = scan.of_options(parsed_args)
        wanted = parsed_args.volume
        volumes = [
            each
            for pool in parsed_args.pool or cluster.pools()
            for each in kept(cluster, pool)
            if wanted in (None, each.mark.volume)
        ]
        result = ''
        if wanted:
            try:
                result = self._restored(parsed_args, cloud, cluster, volumes)
            except outcomes.Refused as error:
                self.status = exit_status.ATTENTION
                result = f'refused: {error}. {error.reason.remedy}'
            except outcomes.NotVerified as error:
                self.status = exit_status.FAILED
                result = f'failed: {error}. {error.remedy}'
            if not volumes:
                return self.headers(parsed_args), [
                    (wanted, '', '', '', '', result)
                ]
        return self.headers(parsed_args), [
            (
                each.mark.volume,
                str(each.mark.record.get('name') or ''),
                each.mark.project,
                sizes.format_size(each.mark.size),
                f'{each.entry.expires:%Y-%m-%d %H:%M} UTC',
                result,
            )
            for each in volumes
        ]

    def _restored(
        self,
        parsed_args: argparse.Namespace,
        cloud: Any,
        cluster: scan.Cluster,
        volumes: list[Kept],
    ) -> str:
        if not volumes:
            name = f'volume-{parsed_args.volume}{image_handles.DELETED_SOURCE}'
            for pool in parsed_args.pool or cluster.pools():
                with cluster.connected(pool) as (_, ioctx):
                    if objects.id_of(cluster.librados, ioctx, name):
                        raise outcomes.Refused(SOURCE)
            raise outcomes.Refused(NOT_KEPT)
        volume = volumes[0]
        try:
            project = cloud.connect_as_project({'id': volume.mark.project})
            project.authorize()
        except outcomes.UNANSWERED as error:
            raise outcomes.Refused(NO_ROLE, str(error)) from error
        ident = Restoration(volume, cluster, project.block_storage).run()
        return f'restored as {ident}'
