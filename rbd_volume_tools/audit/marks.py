# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext mark``: writes the ID of this cloud to its images.

Each mark is one request to the header of the image, which asks no client for
the lock. The cloud may have given an image away since the plan: its record is
read again, and the mark is written only if nobody has changed the header since
before that.
"""

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import errno
from typing import Any

from rbd_volume_options import ownership
from rbd_volume_tools.audit import changes
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import progress

#: Statuses of volumes whose image the cloud gives away or deletes.
_LEAVING = frozenset({'unmanaging', 'unmanage_starting', 'deleting'})
_MARKED = frozenset(
    {
        *(names.Owner.VOLUME, names.Owner.GLANCE_IMAGE),
        names.Owner.SERVER_DISK,
    }
)
# The header of an image has a higher or a lower version than expected.
_OTHER_VERSION = frozenset({errno.EOVERFLOW, errno.ERANGE})

CHANGED = outcomes.Reason(
    'changed',
    'the image or its record has changed since the plan',
    'Make a new plan.',
)
SEVERAL = outcomes.Reason(
    'several-pools',
    'several of the pools have a disk of this name; Nova does not report '
    'which one is a copy',
    'Name only pools that Nova uses.',
)


@dataclasses.dataclass(frozen=True)
class Marks:
    """Writes the mark of this cloud.

    :ivar known: the records of the plan
    :ivar cloud: the APIs at the moment of a call
    """

    librados: Any
    known: records.Records
    cloud: records.CloudNow

    def make(
        self, item: outcomes.Outcome, ioctx: Any, ours: frozenset[str]
    ) -> str:
        """Write the mark of an image.

        :raises Refused: if the image or its record has changed
        """
        ident, cloud_id = item.ident, self.known.cloud_id
        try:
            text, version = ownership.text_and_version(
                self.librados, ioctx, ident
            )
            owner = ownership.owner_of(
                {ownership.KEY: text}, ioctx.get_pool_id(), ident
            )
            if owner == cloud_id:
                raise outcomes.Unneeded('has the mark')
            if owner != item.seen['owner'] or not is_still_ours(
                *(item.pool, item.image, self.known, self.cloud)
            ):
                raise outcomes.Refused(CHANGED)
            ownership.write(ioctx, ident, cloud_id, version)
        except self.librados.ObjectNotFound:
            raise outcomes.Unneeded('deleted since the plan') from None
        except self.librados.OSError as error:
            if error.errno not in _OTHER_VERSION:
                raise
            raise outcomes.Refused(CHANGED) from error
        return f'marked with {cloud_id}'


def unmarked(
    scanned: scan.PoolScan, known: records.Records, stored: databases.Databases
) -> Iterator[images.Image]:
    """Yield the images of this cloud's resources that lack its mark.

    An image with the mark of another cloud is left alone. So is the image of
    a Glance image whose location does not name it: tenants choose the ids of
    Glance images, such as that of an image of another cloud. A volume of the
    stock driver gets no mark, because it would keep it when it is unmanaged.
    """
    for image in scanned.found:
        name = names.of_image(image.name)
        volume = known.volumes.get(name.ident)
        is_marked = image.owner not in ('', ownership.RELEASED)
        if is_marked or name.owner not in _MARKED:
            continue
        is_stock = (
            name.owner is names.Owner.VOLUME
            and volume
            and volume.pool not in known.marking
        )
        if not is_stock and known.has_in(scanned.pool, name, stored):
            yield image


def is_still_ours(
    pool: str, image: str, known: records.Records, cloud: records.CloudNow
) -> bool:
    """Return whether the cloud has the resource of an image at this moment.

    An unmanage marks the image as released before the record is deleted.
    """
    name = names.of_image(image)
    if name.owner is not names.Owner.VOLUME:
        return cloud.has_record(name.owner, name.ident)
    recorded = known.volumes.get(name.ident)
    volume = cloud.volume(recorded.ident) if recorded else None
    return (
        volume is not None
        and volume.image_id == name.ident
        and known.backends.get(volume.pool) == pool
        and volume.status not in _LEAVING
    )


def planned(
    scans: Sequence[scan.PoolScan],
    known: records.Records,
    stored: databases.Databases,
) -> Iterator[outcomes.Outcome]:
    """Yield the mark of each image without one, or why it gets none."""
    copies = images.copied_disks(x for each in scans for x in each.found)
    for scanned in scans:
        for image in unmarked(scanned, known, stored):
            item = outcomes.Outcome(
                *(outcomes.Status.PLANNED, image.pool, image.name),
                *(image.ident, f'mark with {known.cloud_id}'),
                seen={'owner': image.owner},
            )
            if image.name in copies:
                yield item.refused(outcomes.Refused(SEVERAL))
            else:
                yield item


class PlanMarks(maintenance.PlanCommand):
    """Find the images of this cloud that lack its mark, and write a plan.

    The mark has the ID of the cloud (rbd_cloud_id). Nothing is changed.
    """

    noun = 'mark'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--pool',
            metavar='<pool>',
            action='append',
            required=True,
            help='Ceph pool with images of this cloud; repeat the option for '
            'several pools',
        )
        parser.add_argument(
            '--glance-config',
            metavar='<file>',
            default='',
            help='glance-api.conf with the connection to the database, which '
            'has the locations of images. Required if Glance does not show '
            'them (show_image_direct_url)',
        )
        return parser

    def planned(
        self, parsed_args: argparse.Namespace, cloud: Any, cluster: Any
    ) -> tuple[Mapping[str, Any], Iterable[outcomes.Outcome]]:
        # Before the scan, which can take long.
        stored = databases.Databases(glance_config=parsed_args.glance_config)
        with progress.shown(self.app.stderr) as show:
            scans = [
                cluster.scan(
                    pool,
                    lambda done, total, pool=pool: show(pool, done, total),
                )
                for pool in dict.fromkeys(parsed_args.pool)
            ]
        known = records.of_cloud(cloud, cluster.fsid())
        if not known.cloud_id:
            raise ValueError(
                'The back ends of Cinder report no rbd_cloud_id. Create an ID '
                'with cinder-rbd-ext cloud-id, set it in each cinder.conf, '
                'and restart cinder-volume.'
            )
        return {'cloud_id': known.cloud_id}, [
            *(
                outcomes.unreadable(each.pool, name, why)
                for each in scans
                for name, why in each.forbidden.items()
            ),
            *planned(scans, known, stored),
        ]


class ApplyMarks(maintenance.ApplyCommand):
    """Write the marks of a plan.

    An image whose record has changed since the plan is refused.
    """

    noun = 'mark'

    def maker(
        self, parsed_args: argparse.Namespace, work: changes.Run
    ) -> changes.Make:
        now = records.CloudNow(work.cloud)
        return Marks(work.cluster.librados, work.known, now).make
