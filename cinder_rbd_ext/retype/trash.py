# SPDX-License-Identifier: Apache-2.0

"""The trash: the images that retypes and migrations have replaced, and copies.

The former image of a volume, its kept source, stays there for
``rbd_conversion_keep`` seconds. A tenant who retypes a volume again and again
would fill the pool, because the quota does not count these images. So only the
last one has this time.
"""

from collections.abc import Callable
import contextlib
import dataclasses
import functools
import re
import time
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.scheduler import rpcapi
from oslo_config import cfg
from oslo_log import log as logging
import oslo_messaging
from oslo_utils import timeutils

from cinder_rbd_ext import locks
from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import swap
from cinder_rbd_ext.trash import entries
from rbd_volume_options import bindings
from rbd_volume_options import capabilities
from rbd_volume_options import image_handles
from rbd_volume_options import image_record
from rbd_volume_options import wire

CONF = cfg.CONF
LOG = logging.getLogger(__name__)

#: Seconds until the OSDs have removed the watch of a killed client, and
#: seconds between two attempts in this time.
WATCHED_FOR = 60.0
PAUSE = 1.0

# Seconds to wait for the scheduler, while the lock of a volume is held.
_TIMEOUT = 3

_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'


def keep(images: swap.Images, volume_id: str) -> None:
    """Move the source to the trash, after a copy has replaced it."""
    marker.note_kept(volume_id, images.source_id)
    delay = images.driver.configuration.safe_get(opts.CONVERSION_KEEP)

    def run(ioctx: bindings.ObjectIoctx) -> None:
        if swap.id_of(ioctx, images.name) == images.source_id:
            # Cinder has saved the new back end of a migrated volume.
            images.rename(
                ioctx, images.name, images.kept_name, images.source_id
            )
        if swap.id_of(ioctx, images.kept_name) == images.source_id:
            entries.keep(
                images.driver, ioctx, images.kept_name, volume_id, delay
            )

    swap.run(images.driver, run)


def discard(images: swap.Images, wait: float = 0.0, copy_id: str = '') -> None:
    """Remove the copy, complete or not, through the trash.

    The OSDs can keep the watch of a killed child until they restart. The copy
    then stays in the trash, where :class:`Kept` finds it. The trash of another
    pool may be that of a back end without this driver: the copy stays there
    only after the wait.

    :param wait: seconds to wait for the end of the watch of a killed child
    :param copy_id: of the verified copy, which may have been placed
    :raises rbd.ImageBusy: if a client has it open
    """
    driver, name = images.driver, images.copy_name

    def remove_copy(ioctx: bindings.ObjectIoctx) -> None:
        if copy_id and swap.id_of(ioctx, images.name) == copy_id:
            # Undo the placement, complete or not.
            images.rename(ioctx, images.name, name, copy_id)
        _discard(driver, ioctx, name)

    def is_in_trash(ioctx: bindings.ObjectIoctx) -> bool:
        return swap.id_of(ioctx, name) is None and any(
            entry['name'] == name
            for entry in driver.rbd.RBD().trash_list(ioctx)
        )

    until = time.monotonic() + wait
    while True:
        try:
            swap.run(driver, remove_copy, images.pool)
            return
        except driver.rbd.ImageBusy:
            is_late = time.monotonic() >= until
            may_stay = not images.is_moved or (wait and is_late)
            if may_stay and swap.run(driver, is_in_trash, images.pool):
                LOG.info('%s is open; removing it later', name)
                return
            if is_late:
                raise
        time.sleep(PAUSE)


def _discard(
    driver: protocols.Driver, ioctx: bindings.Ioctx, name: str
) -> None:
    """Remove an image; an earlier attempt may have moved it to the trash."""
    if swap.id_of(ioctx, name) is not None:
        try:
            driver.rbd.RBD().trash_move(ioctx, name, 0)
        except driver.rbd.ImageNotFound:
            # Its creation or its removal was interrupted: it has no header.
            driver.rbd.discard(ioctx, name)
    for entry in driver.rbd.RBD().trash_list(ioctx):
        if entry['name'] == name:
            purge(driver, entry['id'], ioctx)


def purge(
    driver: protocols.Driver, image_id: str, ioctx: bindings.Ioctx
) -> None:
    """Remove an image and its snapshots from the trash.

    An image that somebody has restored is not removed.

    :raises rbd.ImageBusy: if a client has it open, or if it has clones
    """

    def is_there(snapshot: object = None) -> bool:
        trash = driver.rbd.RBD().trash_list(ioctx)
        return any(entry['id'] == image_id for entry in trash)

    if not is_there():
        return
    try:
        with (
            contextlib.suppress(driver.rbd.ImageNotFound),
            driver.rbd.Image(ioctx, image_id=image_id) as image,
        ):
            for each in filter(is_there, list(image.list_snaps())):
                image_handles.remove_snapshot(image, each['name'])
    except driver.rbd.Timeout as error:
        # librbd tells the clients of an image about it, also a killed one that
        # the OSDs have not forgotten.
        raise driver.rbd.ImageBusy(f'{image_id} is open') from error
    driver.rbd.RBD().trash_remove(ioctx, image_id, True)


def volume_id_of(entry: dict[str, Any]) -> str | None:
    """Return the volume of a kept source or of a copy in the trash.

    :param entry: of the trash; None for other images. The name of a kept
        source contains the id of the image, so that a name alone is no proof.
    """
    before, _, after = CONF.volume_name_template.partition('%s')
    match = re.fullmatch(
        f'{re.escape(before)}({_UUID}){re.escape(after)}'
        f'(?:{re.escape(wire.RETYPE_COPY)}{_UUID}'
        f'|{re.escape(swap.kept_name("", entry["id"]))})',
        entry['name'],
    )
    return match[1] if match else None


@dataclasses.dataclass(frozen=True)
class Kept:
    """A kept source, or a copy, in the trash.

    :ivar is_over: whether the delay is over, or the trash has a later kept
        source of the volume
    :ivar is_deleted: whether its volume is deleted
    """

    image_id: str
    name: str
    is_over: bool
    volume_id: str
    is_deleted: bool


def kept(driver: protocols.Driver, image_name: str = '') -> list[Kept]:
    """Return the entries of the trash that retypes of this cloud have made.

    :param image_name: of a volume, for its kept sources; empty for all entries
    """
    trash = swap.run(
        driver, lambda ioctx: list(driver.rbd.RBD().trash_list(ioctx))
    )
    image_ids = {entry['id'] for entry in trash}
    return [
        Kept(
            entry['id'],
            entry['name'],
            _is_expired(entry)
            # The last one may be in another pool, or not yet in the trash.
            or volume.admin_metadata.get(wire.RECORD_KEPT)
            in image_ids - {entry['id']},
            volume.id,
            volume.deleted,
        )
        for entry in trash
        if (
            not image_name
            or entry['name'] == swap.kept_name(image_name, entry['id'])
        )
        and (ident := volume_id_of(entry))
        and (volume := _volume_of(ident))
    ]


def _volumes_of(ident: str) -> list[Any]:
    """Return the volumes, deleted or not, whose image has an id in its name.

    After a migration by Cinder, this may be the id of the volume that was
    created for the migration. The volume with that id itself is the last one.
    """
    admin = context.get_admin_context(read_deleted='yes')
    renamed = objects.VolumeList.get_all(admin, filters={'_name_id': ident})
    with contextlib.suppress(exception.VolumeNotFound):
        return [*renamed, objects.Volume.get_by_id(admin, ident)]
    return list(renamed)


def _volume_of(ident: str) -> Any:
    volumes = _volumes_of(ident)
    in_use = [each for each in volumes if not each.deleted]
    own = [each for each in volumes if each.id == ident]
    return next(iter([*in_use, *own]), None)


def _is_expired(entry: dict[str, Any]) -> bool:
    until = timeutils.normalize_time(entry['deferment_end_time'])
    return bool(until <= timeutils.utcnow())


def _is_elsewhere(driver: protocols.Driver, back_end: str) -> bool:
    """Return whether the back end of a volume is another one.

    A host that got another name has the volumes of the former name until they
    are updated. No service of that name is running.
    """
    own = marker.back_end_of(driver)
    if image_record.is_same_section(own, back_end):
        return own != back_end and marker.has_service(back_end, is_up=True)
    return True


def _has_other_pool(driver: protocols.Driver, back_end: str) -> bool:
    """Return whether a back end reports another pool than that of a driver.

    A back end that the scheduler does not know now may use the same pool.
    """
    scheduler = rpcapi.SchedulerAPI()
    scheduler.client = scheduler.client.prepare(timeout=_TIMEOUT, retry=1)
    try:
        pools = scheduler.get_pools(context.get_admin_context(), filters={})
    except (oslo_messaging.MessagingException, exception.ServiceNotFound):
        return False
    here = driver._get_fsid(), driver.configuration.rbd_pool
    # The user is between these two.
    places = [
        tuple(([''] * 3 + capabilities.location(pool))[-3::2])
        for pool in pools
        if pool['name'].partition('#')[0] == back_end
    ]
    return bool(places) and here not in places


def is_needed(driver: protocols.Driver, entry: Kept) -> bool:
    """Return whether a kept source may be the only image of its volume.

    The caller holds the lock of the volume; otherwise, the source of a volume
    whose image is being replaced may seem to be needed.
    """
    if entry.is_deleted or wire.RETYPE_COPY in entry.name:
        return False
    admin = context.get_admin_context(read_deleted='yes')
    volume = objects.Volume.get_by_id(admin, entry.volume_id)
    image_id = swap.run(driver, lambda ioctx: swap.id_of(ioctx, volume.name))
    if image_id is not None:
        return False
    if marker.read(volume.admin_metadata) or marker.is_migrating(volume):
        # Its image has no name at this moment.
        return True
    back_end = image_record.backend_of(volume)
    if driver.host and _is_elsewhere(driver, back_end):
        # It was migrated after its retype, unless both use the same pool.
        return not _has_other_pool(driver, back_end)
    LOG.error(
        'Volume %(volume)s has no image. Not removing %(entry)s from the '
        'trash, the image that its last retype replaced. To restore it: rbd '
        'trash restore --image %(name)s %(id)s',
        {
            'volume': volume.id,
            'entry': entry.name,
            'name': volume.name,
            'id': entry.image_id,
        },
    )
    return True


def remove(
    driver: protocols.Driver,
    is_chosen: Callable[[Kept], bool],
    image_name: str = '',
    is_locked: bool = True,
) -> None:
    """Remove kept sources now.

    Recovery removes those that cannot be removed yet, for example because a
    client has them open.

    :param image_name: of a volume; empty for those of all volumes
    :param is_locked: whether the caller holds the locks of their volumes.
        Otherwise, they are taken to find out whether a volume needs an image,
        and are free while it is removed, which can take minutes.
    """
    for entry in filter(is_chosen, kept(driver, image_name)):
        lock: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        if not is_locked and not entry.is_deleted:
            lock = _alone(driver, entry)
        try:
            with lock:
                if is_needed(driver, entry):
                    continue
            LOG.info('Removing %s from the trash', entry.name)
            swap.run(driver, functools.partial(purge, driver, entry.image_id))
        except locks.VolumeLocked:
            LOG.debug('Volume %s is in use', entry.volume_id)
        except driver.rbd.Error as error:
            LOG.warning(
                'Could not remove %(name)s from the trash: %(error)s',
                {'name': entry.name, 'error': error},
            )


def _alone(
    driver: protocols.Driver, entry: Kept
) -> contextlib.AbstractContextManager[Any]:
    try:
        volume = record.stored_volume(entry.volume_id)
    except exception.VolumeNotFound:
        return contextlib.nullcontext()
    return locks.exclusive(driver, volume, wait=0)


def remove_expired(driver: protocols.Driver, is_full: bool) -> None:
    """Remove the kept sources whose time is over.

    :param is_full: whether the pool needs space, so that all are removed
    """
    is_deferred = driver.configuration.enable_deferred_deletion
    remove(
        driver,
        lambda entry: (
            is_full or entry.is_over or (entry.is_deleted and not is_deferred)
        ),
        is_locked=False,
    )
