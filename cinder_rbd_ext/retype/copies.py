# SPDX-License-Identifier: Apache-2.0

"""The image of a volume, its copy, and the swap of both.

Three names belong to a retype: that of the volume's image, that of the copy
(with the id of the request), and that of the kept source (with its image id).
A swap renames the image to the name of the kept source and then the copy to
the name of the image. librbd changes three objects in a rename: it creates the
object with the new name, changes the entry of the directory, and removes the
object with the old name. A process that is killed in between leaves an image
with two names, which librbd itself neither completes nor undoes.
:meth:`Copy.swap` continues from each of these states, and can be repeated.

A migration makes its copy in another pool, where it gets the name of the
volume's image. The image keeps its name until Cinder has saved the new back
end.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import errno
import functools
import json
import math
import pathlib
import re
import struct
import sys
import time
from typing import Any
from typing import TypeVar

from cinder import context
from cinder import exception
from cinder import objects
from cinder.scheduler import rpcapi
from cinder.volume.drivers import rbd
from oslo_config import cfg
from oslo_log import log as logging
import oslo_messaging
from oslo_utils import timeutils

from cinder_rbd_ext import capabilities
from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext.imaging import configuration
from cinder_rbd_ext.imaging import existing
from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import marker
from rbd_volume_options import features
from rbd_volume_options import plan
from rbd_volume_options import wire

CONF = cfg.CONF
LOG = logging.getLogger(__name__)

#: Seconds until the OSDs have removed the watch of a killed client, and
#: seconds between two attempts in this time.
WATCHED_FOR = 60.0
PAUSE = 1.0

# Seconds to wait for the scheduler, while the lock of a volume is held.
_TIMEOUT = 3

_DIRECTORY = 'rbd_directory'
_CLASS = 'rbd'
# The namespace of user snapshots, and the pool id that librbd returns for an
# image without a group.
_USER = 0
_NO_POOL = -1

_Result = TypeVar('_Result')


class CopyFailed(exception.VolumeBackendAPIException):
    """A copy is not like its source, or the source has changed."""

    message = '%(reason)s'


def _text(text: str) -> bytes:
    """Return a string as the object class ``rbd`` encodes it."""
    data = text.encode()
    return struct.pack('<I', len(data)) + data


def _decoded(data: bytes) -> str:
    (length,) = struct.unpack_from('<I', data)
    return data[4 : 4 + length].decode()


def id_of(ioctx: protocols.Ioctx, name: str) -> str | None:
    """Return the id of the image with a name; None if there is none."""
    try:
        return _decoded(ioctx.read(f'rbd_id.{name}'))
    except Exception as error:
        if getattr(error, 'errno', None) == errno.ENOENT:
            return None
        raise


def kept_name(name: str, image_id: str) -> str:
    """Return the name of an image after its copy has replaced it."""
    return f'{name}{wire.RETYPE_SOURCE}{image_id}'


class Copy:
    """The images of a retype or a migration.

    :param driver: the driver, which provides connections
    :param name: name of the volume's image
    :param mark: the marker of the retype or the migration
    :ivar name: name of the copy
    :ivar pool: pool of the copy
    """

    def __init__(
        self, driver: protocols.Driver, name: str, mark: marker.Marker
    ) -> None:
        self._driver = driver
        self._own_pool = str(driver.configuration.rbd_pool)
        self.pool = mark.pool or self._own_pool
        # The other back end need not be able to use the pool of a parent.
        self._is_flat = bool(mark.pool)
        self._image_name = name
        self._source_id = mark.source_id
        self._kept_name = kept_name(name, mark.source_id)
        request = mark.request.removeprefix('req-')
        self.name = f'{name}{wire.RETYPE_COPY}{request}'

    def run(self, function: Callable[..., _Result], *pools: str) -> _Result:
        """Run a function of contexts, which may block.

        :param pools: pools of the contexts; by default, that of the image
        """
        return run(self._driver, function, *pools)

    # The copy

    def make(self, target: plan.ImageState, report: children.Report) -> None:
        """Copy the image with its snapshots, in a child process.

        :raises ChildFailed: if it fails
        """
        layout = target.layout
        command = [
            *('rbd', *self._driver._ceph_args(), 'deep', 'cp'),
            *('--rados-osd-op-timeout', str(children.PATIENCE)),
            # Ceph's handler of a crash can wait for ever for a lock of the
            # code that crashed (seen: that of localtime).
            '--fatal-signal-handlers=false',
            *('--pool', self._own_pool, '--image', self._image_name),
            *('--dest-pool', self.pool, '--dest', self.name),
            # The unit keeps rbd from reading a number as MiB. The size is a
            # power of two, which it does not round.
            *('--object-size', f'{layout.object_size}B'),
            *('--stripe-unit', f'{layout.stripe_unit}B'),
            *('--stripe-count', str(layout.stripe_count)),
            # The image's own pool means no data pool. Without this argument,
            # librbd would use the default data pool of its configuration.
            *('--data-pool', target.data_pool or self.pool),
        ]
        if self._is_flat:
            command.append('--flatten')
        for each in sorted(target.image_features & features.CHOOSABLE):
            command += ['--image-feature', each]
        children.run(command, report)

    def compare(self, report: children.Report) -> None:
        """Compare the contents of the image and its copy, in a child process.

        :raises ChildFailed: if they differ, or if the comparison fails
        """
        source = [self._own_pool, self._image_name]
        self._read(report, images=[source, [self.pool, self.name]])

    def used(self, report: children.Report) -> int:
        """Return the bytes of the objects that the copy will have.

        :raises ChildFailed: if the child process that reads it fails
        """
        shown = self._read(
            report,
            images=[[self._own_pool, self._image_name]],
            with_parent=self._is_flat,
        )
        return int(shown)

    def _read(self, report: children.Report, **chosen: Any) -> str:
        name, conf, user, _secret = self._driver._get_config_tuple()
        settings = {
            'user': user,
            'cluster': name,
            'conf': conf,
            'timeout': children.PATIENCE,
            **chosen,
        }
        program = str(pathlib.Path(__file__).with_name('image_data.py'))
        command = [sys.executable, program, json.dumps(settings)]
        return children.run(command, report)

    def complete(self, target: plan.ImageState) -> str:
        """Check everything but the contents of the copy; return its id.

        Snapshots that are protected in the source are protected, and invalid
        object maps are rebuilt. The copy in another pool does not have the
        configuration that somebody else has set.

        :raises CopyFailed: if the copy is not like its source
        """

        def run(ioctx: protocols.Ioctx, other_pool: protocols.Ioctx) -> str:
            librbd = self._driver.rbd
            with (
                librbd.Image(ioctx, self._image_name, read_only=True) as image,
                librbd.Image(other_pool, self.name) as copy,
            ):
                copied = {each['name'] for each in copy.list_snaps()}
                for name in [each['name'] for each in image.list_snaps()]:
                    if (
                        name in copied
                        and image.is_protected_snap(name)
                        and not copy.is_protected_snap(name)
                    ):
                        copy.protect_snap(name)
                _rebuild(librbd, other_pool, self.name, copy)
                self._check_equal(image, copy)
                self._check_target(other_pool, copy, target)
                if self._is_flat:
                    configuration.reset(copy)
                    configuration.change(copy, target.configuration)
                return str(copy.id())

        return self.run(run, self._own_pool, self.pool)

    def _check_equal(self, image: protocols.Image, copy: Any) -> None:
        for what, of_image, of_copy in (
            ('size', image.size(), copy.size()),
            ('image metadata', *map(_metadata, (image, copy))),
            ('snapshots', _snapshots(image, self._is_flat), _snapshots(copy)),
        ):
            if of_image != of_copy:
                raise CopyFailed(
                    reason=f'The {what} of the copy differs: {of_copy} '
                    f'instead of {of_image}'
                )

    def _check_target(
        self, ioctx: protocols.Ioctx, copy: Any, target: plan.ImageState
    ) -> None:
        data_pool_id = copy.data_pool_id()
        state = existing.state_of(copy)
        wanted = target.image_features & features.CHOOSABLE
        own_pool = ioctx.get_pool_id()
        if (
            state.layout != target.layout
            or state.image_features & features.CHOOSABLE != wanted
            or (data_pool_id == own_pool) == bool(target.data_pool)
        ):
            raise CopyFailed(reason=f'The copy has {state}, and not {target}')
        maps = self._driver.rbd.RBD_FLAG_OBJECT_MAP_INVALID
        if any(flags & maps for flags in _flags(copy)):
            raise CopyFailed(reason='An object map of the copy is invalid')

    # The source

    def obstacle(self) -> str | None:
        """Return why the image cannot be copied; None if it can."""

        def run(ioctx: protocols.Ioctx) -> str | None:
            with self._driver.rbd.Image(
                ioctx, self._image_name, read_only=True
            ) as image:
                return obstacle_of(image, self._driver.rbd)

        return self.run(run)

    def fingerprint(self) -> tuple[Any, ...]:
        """Return what shows that the image was changed."""

        def run(ioctx: protocols.Ioctx) -> tuple[Any, ...]:
            with self._driver.rbd.Image(
                ioctx, self._image_name, read_only=True
            ) as image:
                return (
                    image.id(),
                    image.size(),
                    image.modify_timestamp(),
                    [
                        (each['id'], each['name'])
                        for each in image.list_snaps()
                    ],
                    _metadata(image),
                )

        return self.run(run)

    # The swap

    def is_swapped(self, copy_id: str) -> bool:
        """Return whether the swap has begun, so that it must be completed.

        :param copy_id: of the verified copy; empty if there is none
        """
        if not copy_id:
            return False

        def run(ioctx: protocols.Ioctx) -> bool:
            image_id = id_of(ioctx, self._image_name)
            if image_id == self._source_id:
                # With this name, a client may have opened it since.
                return False
            if id_of(ioctx, self._kept_name) == self._source_id:
                # Completed below, or undone if the copy does not exist.
                return copy_id in (id_of(ioctx, self.name), image_id)
            return image_id == copy_id

        return self.run(run)

    def swap(self, copy_id: str) -> None:
        """Replace the image by its copy; complete an interrupted swap.

        A service that was stopped for a while may find that another one has
        removed the copy. The image then has its name again.

        :raises CopyFailed: if the copy does not exist, or a name belongs to
            another image
        """

        def run(ioctx: protocols.ObjectIoctx) -> None:
            try:
                self._swap(ioctx, copy_id)
            except CopyFailed:
                if self._is_misplaced(ioctx):
                    self._restore(ioctx)
                raise

        self.run(run)

    def _swap(self, ioctx: protocols.ObjectIoctx, copy_id: str) -> None:
        if id_of(ioctx, self._image_name) != copy_id:
            if id_of(ioctx, self.name) != copy_id:
                raise CopyFailed(reason=f'{self.name} does not exist')
            self._rename(
                ioctx, self._image_name, self._kept_name, self._source_id
            )
        self._rename(ioctx, self.name, self._image_name, copy_id)

    def swap_back(self, copy_id: str) -> None:
        """Give the image its name again, and the copy that of a copy.

        An interruption leaves what one of :meth:`swap` leaves.

        :raises CopyFailed: if the image does not exist, or a name belongs to
            another image
        """

        def run(ioctx: protocols.ObjectIoctx) -> None:
            if id_of(ioctx, self._image_name) != self._source_id:
                if id_of(ioctx, self._kept_name) != self._source_id:
                    raise CopyFailed(
                        reason=f'Image {self._source_id} is not '
                        f'{self._kept_name}'
                    )
                self._rename(ioctx, self._image_name, self.name, copy_id)
            self._restore(ioctx)

        self.run(run)

    def restore(self) -> None:
        """Undo an interrupted swap that is not completed."""
        self.run(self._restore)

    def _restore(self, ioctx: protocols.ObjectIoctx) -> None:
        self._rename(ioctx, self._kept_name, self._image_name, self._source_id)

    def is_misplaced(self) -> bool:
        """Return whether the image has the name of a kept source.

        It may have its own name, too.
        """
        return self.run(self._is_misplaced)

    def _is_misplaced(self, ioctx: protocols.Ioctx) -> bool:
        return id_of(ioctx, self._kept_name) == self._source_id and id_of(
            ioctx, self._image_name
        ) in (None, self._source_id)

    def _rename(
        self,
        ioctx: protocols.ObjectIoctx,
        source: str,
        target: str,
        image_id: str,
    ) -> None:
        """Rename an image; complete an interrupted rename."""
        has_old = id_of(ioctx, source) == image_id
        target_id = id_of(ioctx, target)
        if target_id is None and has_old:
            self._driver.rbd.RBD().rename(ioctx, source, target)
            return
        if target_id != image_id:
            raise CopyFailed(
                reason=f'Image {image_id} is neither {source} nor {target}, '
                f'which is image {target_id}'
            )
        if not has_old:
            return
        LOG.warning(
            'Completing the interrupted rename of image %(id)s from '
            '%(source)s to %(target)s',
            {'id': image_id, 'source': source, 'target': target},
        )
        ident = _text(image_id)
        _, data = ioctx.execute(_DIRECTORY, _CLASS, 'dir_get_name', ident)
        if _decoded(data) == source:
            ioctx.execute(
                _DIRECTORY,
                _CLASS,
                'dir_rename_image',
                _text(source) + _text(target) + ident,
            )
        ioctx.remove_object(f'rbd_id.{source}')

    # The copy of a migration

    def place(self, copy_id: str) -> None:
        """Give the copy in another pool the name of the volume's image.

        :raises CopyFailed: if the pool has another image of this name
        """
        self.run(
            lambda other_pool: self._rename(
                other_pool, self.name, self._image_name, copy_id
            ),
            self.pool,
        )

    def is_placed(self) -> bool:
        """Return whether the other pool has an image of the volume."""
        return self.run(
            lambda other_pool: id_of(other_pool, self._image_name) is not None,
            self.pool,
        )

    # Removal

    def discard(self, wait: float = 0.0, copy_id: str = '') -> None:
        """Remove the copy, complete or not, through the trash.

        The OSDs can keep the watch of a killed child until they restart. The
        copy then stays in the trash, where :class:`Kept` finds it. The trash
        of another pool may be that of a back end without this driver: the
        copy stays there only after the wait.

        :param wait: seconds to wait for the end of the watch of a killed child
        :param copy_id: of the verified copy, which may have been placed
        :raises rbd.ImageBusy: if a client has it open
        """
        until = time.monotonic() + wait if wait else math.inf

        def run(other_pool: protocols.ObjectIoctx) -> None:
            if copy_id and id_of(other_pool, self._image_name) == copy_id:
                # Undo the placement, complete or not.
                self._rename(other_pool, self._image_name, self.name, copy_id)
            try:
                discard(self._driver, other_pool, self.name)
            except self._driver.rbd.ImageBusy:
                is_early = self._is_flat and time.monotonic() < until
                if is_early or not self._is_in_trash(other_pool):
                    raise
                LOG.info('%s is open; removing it later', self.name)

        self._repeat(run, wait)

    def _is_in_trash(self, ioctx: protocols.ObjectIoctx) -> bool:
        trash = self._driver.rbd.RBD().trash_list(ioctx)
        return id_of(ioctx, self.name) is None and any(
            entry['name'] == self.name for entry in trash
        )

    def keep(self) -> None:
        """Move the source to the trash, after a copy has replaced it."""
        delay = self._driver.configuration.safe_get(opts.CONVERSION_KEEP)

        def run(ioctx: protocols.ObjectIoctx) -> None:
            if id_of(ioctx, self._image_name) == self._source_id:
                # Cinder has saved the new back end of a migrated volume.
                self._rename(
                    ioctx, self._image_name, self._kept_name, self._source_id
                )
            if id_of(ioctx, self._kept_name) == self._source_id:
                self._driver.rbd.RBD().trash_move(
                    ioctx, self._kept_name, delay
                )

        self.run(run)

    def _repeat(self, step: Callable[[Any], None], wait: float) -> None:
        until = time.monotonic() + wait
        while True:
            try:
                self.run(step, self.pool)
                return
            except self._driver.rbd.ImageBusy:
                if time.monotonic() > until:
                    raise
            time.sleep(PAUSE)


def run(
    driver: protocols.Driver, function: Callable[..., _Result], *pools: str
) -> _Result:
    """Run a function of contexts, which may block.

    :param pools: pools of the contexts; by default, that of the back end
    """
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(rbd.RADOSClient(driver, pool))
            for pool in pools or (None,)
        ]
        call = functools.partial(function, *(each.ioctx for each in clients))
        result: _Result = releases.off_main_thread(call)()
        return result


def discard(
    driver: protocols.Driver, ioctx: protocols.Ioctx, name: str
) -> None:
    """Remove an image, complete or not, through the trash.

    An earlier attempt may have moved it there.
    """
    if id_of(ioctx, name) is not None:
        try:
            driver.rbd.RBD().trash_move(ioctx, name, 0)
        except driver.rbd.ImageNotFound:
            # Its creation or its removal was interrupted: it has no header.
            driver.rbd.discard(ioctx, name)
    for entry in driver.rbd.RBD().trash_list(ioctx):
        if entry['name'] == name:
            purge(driver, ioctx, entry['id'])


def purge(
    driver: protocols.Driver, ioctx: protocols.Ioctx, image_id: str
) -> None:
    """Remove an image and its snapshots from the trash.

    An image that somebody has restored is not removed.

    :raises rbd.ImageBusy: if a client has it open, or if it has clones
    """
    trash = driver.rbd.RBD().trash_list(ioctx)
    if all(entry['id'] != image_id for entry in trash):
        return
    try:
        with (
            contextlib.suppress(driver.rbd.ImageNotFound),
            driver.rbd.Image(ioctx, image_id=image_id) as image,
        ):
            for each in list(image.list_snaps()):
                if image.is_protected_snap(each['name']):
                    image.unprotect_snap(each['name'])
                image.remove_snap(each['name'])
    except driver.rbd.Timeout as error:
        # librbd tells the clients of an image about it, also a killed one that
        # the OSDs have not forgotten.
        raise driver.rbd.ImageBusy(f'{image_id} is open') from error
    driver.rbd.RBD().trash_remove(ioctx, image_id, True)


# Kept sources

_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'


def volume_id_of(entry: dict[str, Any]) -> str | None:
    """Return the volume of a kept source or of a copy in the trash.

    :param entry: of the trash; None for other images. The name of a kept
        source contains the id of the image, so that a name alone is no proof.
    """
    before, _, after = CONF.volume_name_template.partition('%s')
    match = re.fullmatch(
        f'{re.escape(before)}({_UUID}){re.escape(after)}'
        f'(?:{re.escape(wire.RETYPE_COPY)}{_UUID}'
        f'|{re.escape(kept_name("", entry["id"]))})',
        entry['name'],
    )
    return match[1] if match else None


@dataclasses.dataclass(frozen=True)
class Kept:
    """A kept source, or a copy, in the trash.

    A tenant who retypes a volume again and again would fill the pool: the
    quota does not count these images. So only the last one has a delay.

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
    trash = run(driver, lambda ioctx: list(driver.rbd.RBD().trash_list(ioctx)))
    image_ids = {entry['id'] for entry in trash}
    return [
        Kept(
            entry['id'],
            entry['name'],
            timeutils.normalize_time(entry['deferment_end_time'])
            <= timeutils.utcnow()
            # The last one may be in another pool, or not yet in the trash.
            or volume.admin_metadata.get(wire.RECORD_KEPT)
            in image_ids - {entry['id']},
            volume.id,
            volume.deleted,
        )
        for entry in trash
        if (
            not image_name
            or entry['name'] == kept_name(image_name, entry['id'])
        )
        and (ident := volume_id_of(entry))
        and (volume := _volume_of(ident))
    ]


def _volume_of(ident: str) -> Any:
    """Return the volume, deleted or not, whose image has an id in its name.

    After a migration by Cinder, this may be the id of the volume that was
    created for the migration.
    """
    admin = context.get_admin_context(read_deleted='yes')
    renamed = objects.VolumeList.get_all(admin, filters={'_name_id': ident})
    for volume in renamed:
        if not volume.deleted:
            return volume
    try:
        return objects.Volume.get_by_id(admin, ident)
    except exception.VolumeNotFound:
        return None


def _is_elsewhere(driver: protocols.Driver, back_end: str) -> bool:
    """Return whether the back end of a volume is another one.

    A host that got another name has the volumes of the former name until they
    are updated. No service of that name is running.
    """
    own = marker.back_end_of(driver)
    if record.is_same_section(own, back_end):
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
    if run(driver, lambda ioctx: id_of(ioctx, volume.name)) is not None:
        return False
    if marker.read(volume.admin_metadata) or marker.is_migrating(volume):
        # Its image has no name at this moment.
        return True
    back_end = record.backend_of(volume)
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


# Obstacles

MIGRATING = 'the RBD image is being migrated by another program'
SNAPSHOTS = (
    'the RBD image has snapshots of a group, or deleted snapshots that clones '
    'require'
)
CLONES = 'the RBD image has clones; flatten or delete them first'
GROUP = 'the RBD image belongs to a group'
MIRRORED = 'the RBD image is mirrored'
IN_USE = 'a client has the RBD image open; detach the volume first'


def obstacle_of(image: protocols.Image, librbd: Any) -> str | None:
    """Return why an open image cannot be copied; None if it can.

    :param image: opened for reading, so that it has no watcher itself
    :param librbd: the module ``rbd``
    """
    if image.features() & librbd.RBD_FEATURE_MIGRATING:
        return MIGRATING
    if list(image.watchers_list()):
        return IN_USE
    snapshots = list(image.list_snaps())
    if any(each.get('namespace', _USER) != _USER for each in snapshots):
        return SNAPSHOTS
    if image.group()['pool'] != _NO_POOL:
        return GROUP
    mirrored = image.mirror_image_get_info()['state']
    if mirrored != librbd.RBD_MIRROR_IMAGE_DISABLED:
        return MIRRORED
    with _at_each(image) as states:
        if any(list(image.list_children2()) for _ in states):
            return CLONES
    return None


@contextlib.contextmanager
def _at_each(image: protocols.Image) -> Iterator[Iterator[str | None]]:
    """Set an image to each of its snapshots, and then to its head."""

    def states() -> Iterator[str | None]:
        for each in list(image.list_snaps()):
            image.set_snap(each['name'])
            yield each['name']
        image.set_snap(None)
        yield None

    try:
        yield states()
    finally:
        image.set_snap(None)


def _metadata(image: protocols.Image) -> list[tuple[str, str]]:
    return sorted(image.metadata_list())


def _snapshots(
    image: protocols.Image, without_parent: bool = False
) -> list[tuple[Any, ...]]:
    """Return the facts about the snapshots and the head.

    :param without_parent: return those of a copy without parent
    """
    with _at_each(image) as states:
        return [
            (
                state,
                image.size(),
                bool(state and image.is_protected_snap(state)),
                None if without_parent else _parent(image),
                0 if without_parent else image.overlap(),
            )
            for state in states
        ]


def _parent(image: protocols.Image) -> object:
    try:
        return image.get_parent_image_spec()
    except Exception as error:
        if getattr(error, 'errno', None) == errno.ENOENT:
            return None
        raise


def _flags(image: protocols.Image) -> list[int]:
    with _at_each(image) as states:
        return [image.flags() for _ in states]


def _rebuild(
    librbd: Any, ioctx: protocols.Ioctx, name: str, image: protocols.Image
) -> None:
    existing.rebuild_object_maps(
        image, lambda snapshot: librbd.Image(ioctx, name, snapshot=snapshot)
    )
