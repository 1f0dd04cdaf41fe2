# SPDX-License-Identifier: Apache-2.0

"""Migrations of volumes, and the keys that remain.

A volume is migrated to another pool of the same cluster by a verified copy
(:mod:`cinder_rbd_ext.retype.replacement`), whose commit also names the new
back end. The stock driver deletes the source before Cinder has saved that.
After a kill before the commit, the volume gets its old status, and the
migration status ``error``. After it, keys that the new back end does not
accept can remain, and recovery saves status and type. The former image is
moved to the trash when Cinder has saved them.

What cannot be copied in this way, such as an image that has clones, is left to
Cinder, which creates a volume and copies the data
(``_migrate_volume_generic`` of its manager). It copies the size, the image and
the attachments of the request, and no snapshots. A volume that differs from
its request, or that a client uses without an attachment, before or after the
copy, therefore fails instead: the request may have been delivered long after
recovery took it for lost. A locked or retyped volume that has got another
status since keeps that status. A second volume can remain, as with the stock
driver.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import re
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from oslo_log import log as logging

from cinder_rbd_ext import admission
from cinder_rbd_ext import late_request
from cinder_rbd_ext import locks
from cinder_rbd_ext import option_errors
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import replacement
from cinder_rbd_ext.retype import retypes
from rbd_volume_options import accepted_keys
from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import image_handles
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import rate_limits
from rbd_volume_options import request
from rbd_volume_options import retype_plan
from rbd_volume_options import volume_items
from rbd_volume_options.families import data_pool as data_pools
from rbd_volume_options.families import sector_size

LOG = logging.getLogger(__name__)

# Text that ``Volume.finish_volume_migration`` writes into the database row of
# the former image. The ``_name_id`` of this row is the id of the migrated
# volume only if the image was never migrated before.
_FORMER = re.compile(r'migration src for ([0-9a-f-]{36})')

# Id and time of the last change of the image that Cinder copies. An attribute
# and not a field: Cinder stores the fields of the volume.
_COPIED = '_rbd_copied'
# Seconds to wait for the deletion of a former image. With the time for the
# lock of the volume, this is less than Cinder waits for an answer.
_NAMING = 10.0

Update = dict[str, Any]
#: Moves a volume to a back end, as Cinder's scheduler describes it.
Move = Callable[[Any], tuple[bool, Update | None]]


class Migrations:
    """Migrations of the volumes of a back end."""

    def __init__(
        self, driver: protocols.Driver, own: replacement.Replacements
    ) -> None:
        self._driver, self._replacements = driver, own
        self._images: lookup.ImageLookup = driver.images

    def _other_pool(self, host: dict[str, Any]) -> str:
        report = host['capabilities']
        fsid, _, pool = ([''] * 3 + backend_settings.location(host))[-3:]
        is_other = (
            report.get('storage_protocol') == self._driver.STORAGE_PROTOCOL
            and fsid == self._driver._get_fsid()
            and pool != self._driver.configuration.rbd_pool
        )
        return pool if is_other else ''

    def migrate(
        self, volume: protocols.Volume, host: dict[str, Any], move: Move
    ) -> tuple[bool, Update | None]:
        """Copy the image of a volume to another pool, if it may stay as it is.

        :param move: the stock method, which moves volumes within a pool
        :returns: whether the volume has moved, and the model update
        :raises CopyFailed: if the volume is in use, which Cinder does not see
            in the volume of the request
        """
        pool = self._other_pool(host)
        # Recovery needs the access too.
        reason = self._no_access(pool) if pool else None
        with (
            _status_kept(volume),
            self._replacements.requested(
                volume,
                _new_type_of(volume),
                left=image_record.backend_of(volume),
                is_announced=bool(pool) and not reason,
            ) as running,
        ):
            accepted = self.accepted(volume, host)
            if accepted is not None and not reason:
                if not pool:
                    moved, update = move(backend_settings.with_location(host))
                    if moved:
                        self._complete(volume, host, accepted)
                        return True, update or None
                else:
                    reason = self._copied(running, host, pool)
                    if not reason:
                        self._complete(volume, host, accepted, pool)
                        return True, None
            if reason:
                LOG.info(
                    'Volume %(id)s is left to Cinder to migrate: %(reason)s',
                    {'id': volume.id, 'reason': reason},
                )
            self._check_is_unused(volume)
        late_request.release(volume)
        return False, None

    def _complete(
        self,
        volume: protocols.Volume,
        host: dict[str, Any],
        accepted: accepted_keys.Acceptance,
        pool: str | None = None,
    ) -> None:
        """Complete a migration; failures are logged.

        After an exception, Cinder would save that it has failed.

        :param pool: of the copy, which has its record; None without a copy
        """
        try:
            if pool:
                self._images.mark(volume.name, pool)
            if not backend_settings.is_ours(host['capabilities']):
                self._driver.configurations.release(volume, pool)
                record.forget(volume.id)
            elif not pool:
                record.moved(volume.id, marker.back_end_of_host(host))
            record.remove_keys(volume, accepted, self._driver.backend_name)
        except Exception:
            LOG.exception('Could not complete migration of %s', volume.id)

    def _check_is_unused(self, volume: protocols.Volume) -> None:
        """Check that Cinder may copy the data of a volume, without Nova.

        It copies the size in the request and no snapshots, and deletes the
        former image.
        """
        admin = context.get_admin_context()
        current = objects.Volume.get_by_id(admin, volume.id)
        if current.name_id != volume.name_id:
            # Cinder would delete the image that the volume has now.
            why = 'has got another image;'
        elif objects.SnapshotList.get_all_for_volume(admin, volume.id):
            why = 'has snapshots, which Cinder does not copy. Delete them, and'
        elif current.size != volume.size:
            why = f'had {volume.size} GiB when its migration was requested;'
        elif current.migration_status != volume.migration_status:
            # Another service took it for interrupted, or an administrator has
            # reset it. Clients are no longer kept from the volume.
            why = f'has ended its migration ({current.migration_status});'
        elif volume.volume_attachment:
            return
        else:
            if (
                current.status in marker.MIGRATED
                and not current.volume_attachment
                and not self._images.clients_of(volume.name)
            ):
                return
            why = (
                f'is in use (status {current.status}) since its migration was '
                'requested. Detach it, or'
            )
        raise commit.CopyFailed(
            reason=f'Volume {volume.id} {why} request the migration again'
        )

    def _copied(
        self, running: replacement.Request, host: dict[str, Any], pool: str
    ) -> str | None:
        """Copy an image to another pool, and have the row name the copy.

        :returns: why Cinder must copy the image; None if it was copied
        :raises CopyFailed: if Cinder must not either
        """
        volume = running.volume
        state = copied_state(volume, host, self._images.state_of(volume.name))
        reason = self._replacements.replace(running, pool, state, host)
        if reason in admission.FOR_ALL_COPIES:
            raise _refusal(volume, reason)
        return reason

    def _no_access(self, pool: str) -> str | None:
        try:
            self._images.check_data_pool(pool, errors.Origin.BACKEND)
        except errors.OptionError as error:
            return str(error)
        return None

    @contextlib.contextmanager
    def taking_over(
        self,
        volume: protocols.Volume,
        new_volume: protocols.Volume,
        is_renamed: bool,
    ) -> Iterator[options.Values | None]:
        """Hold the image that a volume takes over from a new volume.

        Cinder waits as long for this as for a connection.

        :param is_renamed: whether the image gets the name of the volume. If
            not, servers already write to it, and nothing may fail: Nova would
            connect them to the former image again.
        :returns: the state of the image; None if it could not be read
        :raises VolumeLocked: if it is renamed, and the lock could not be taken
        """
        with contextlib.ExitStack() as stack:
            if is_renamed:
                for lock in (
                    locks.exclusive(
                        self._driver, new_volume, volume_use.SHORT_WAIT
                    ),
                    locks.name(self._driver, volume.name, wait=_NAMING),
                ):
                    stack.enter_context(lock)
            state = None
            try:
                state = self._images.state_of(new_volume.name)
            except Exception:
                if is_renamed:
                    raise
                LOG.exception('Could not record image of volume %s', volume.id)
            yield state

    def record_arrival(
        self,
        volume: protocols.Volume,
        new_volume: protocols.Volume,
        state: options.Values,
        name_id: str,
    ) -> None:
        """Record the image that a volume has taken over; a failure is logged.

        Cinder then swaps the columns of the two volumes, as its objects have
        them. The object of the new volume therefore gets the record and items.

        :param name_id: the id in the name that the image has now
        """
        try:
            arrived = record.stored(new_volume.id)
            new_volume.provider_id = record.text_for(arrived, state, name_id)
            items = image_record.items(arrived)
            update = volume_items.created(
                volume_items.values_accepted(items),
                image_record.configuration_in(items),
            )
            record.write(volume.id, *update)
            new_volume.replication_extended_status = record.stored(
                volume.id
            ).replication_extended_status
        except Exception:
            LOG.exception('Could not record image of volume %s', volume.id)

    def check_copied(
        self, volume: protocols.Volume, new_volume: protocols.Volume
    ) -> None:
        """Check a new volume before Cinder copies the data of another to it.

        :raises CopyFailed: if the volume is in use since the request, if its
            retype was refused for a reason that applies here too, if its owner
            has made the copy slow, or if Cinder would not copy all data
        :raises VolumeOptionRefused: if servers could not read the data there
        """
        with _status_kept(volume):
            late_request.check(volume)
            if reason := getattr(volume, retypes.NOT_COPIED, None):
                raise commit.CopyFailed(reason=reason)
            # Afterwards, the volume has neither of the two images of an
            # earlier request, which could then no longer be settled.
            self._replacements.settle_idle(volume.id)
            current = record.stored_volume(volume.id)
            items = image_record.items(current)
            slow = ', '.join(
                volume_items.delaying(rate_limits.COPY, current, items)
            )
            if slow and volume.status == marker.RETYPING:
                # Tenants request any number, and each holds a thread.
                reason = f'limits make it slow: {slow}. Remove them first'
                raise _refusal(volume, reason)
            setattr(volume, _COPIED, self._content_of(volume.name))
            self._check_is_unused(volume)
            with self._images.opened(volume.name, read_only=True) as image:
                has_more = image_handles.has_data_beyond(image, volume.size)
            # With another key, Cinder copies the decrypted data, all of them.
            if has_more and (
                volume.encryption_key_id == new_volume.encryption_key_id
            ):
                raise commit.CopyFailed(
                    reason=f'Volume {volume.id} has data beyond its size, '
                    'which Cinder does not copy. Extend it, and try again'
                )
        with option_errors.of_volume(
            volume,
            self._driver.backend_name,
            user_messages.Operation.MIGRATION,
        ):
            sector_size.check_receives(
                image_record.disk_in(record.items_of(new_volume.id)),
                image_record.disk_in(record.items_of(volume.id)),
            )

    def check_unchanged(self, volume: protocols.Volume) -> None:
        """Check a volume after Cinder has copied its data.

        :raises CopyFailed: if it is in use, or has changed since the check
            before the copy. librbd writes the time of a change at most once a
            minute.
        """
        with _status_kept(volume):
            self._check_is_unused(volume)
        if self._content_of(volume.name) != getattr(volume, _COPIED):
            raise commit.CopyFailed(
                reason=f'Volume {volume.id} has changed since its migration '
                'began. Request the migration again'
            )

    def _content_of(self, name: str) -> tuple[Any, ...]:
        with self._images.opened(name, read_only=True) as image:
            return image.id(), image.modify_timestamp()

    def accepted(
        self, volume: protocols.Volume, host: dict[str, Any]
    ) -> accepted_keys.Acceptance | None:
        """Return which keys a driver-assisted migration keeps.

        :returns: None if the image cannot be migrated unchanged
        :raises VolumeOptionRefused: for options that are not possible on any
            volume, or data that servers could not read there
        """
        metadata = request.metadata_of(volume)
        specs = request.specs_of(volume.volume_type)
        report = host['capabilities']
        settings = backend_settings.settings_of(report, LOG.warning)
        own_pool = self._driver.configuration.rbd_pool
        with option_errors.of_volume(
            volume,
            self._driver.backend_name,
            user_messages.Operation.MIGRATION,
        ):
            if not backend_settings.is_ours(report):
                sector_size.check_leaves(
                    image_record.disk_in(record.items_of(volume.id))
                )
            elif settings is None:
                # A newer release of our driver applies its own rules.
                return accepted_keys.Acceptance(metadata, {})
            if settings and backend_settings.location(host)[-1] == own_pool:
                # The stock driver moves no image within a pool.
                wanted = (
                    specs.get(keys.DATA_POOL) or settings.options.data_pool
                )
                if self._images.state_of(volume.name).data_pool != wanted:
                    return None
            retyped = volume.status == marker.RETYPING
            if retyped and settings:
                # The types differ only in the name of the back end.
                retype = retype_plan.Retype(volume, specs, settings)
                if retype.layout_obstacle(self._images.state_of(volume.name)):
                    return None
                return retype.acceptance
            return accepted_keys.accepted_by_type(
                metadata, specs, settings, volume.size, as_is=not retyped
            )


@contextlib.contextmanager
def _status_kept(volume: protocols.Volume) -> Iterator[None]:
    """Have a failed migration keep the status that a volume has got since.

    After an exception, Cinder's manager gives a volume that was locked or
    retyped its former status. If the volume was given back before the request
    was received, and a server uses it, another server could attach it, too.
    """
    try:
        yield
    except Exception as error:
        if (
            volume.status in (marker.RETYPING, marker.MAINTENANCE)
            and record.stored(volume.id).status != volume.status
        ):
            volume.conditional_update(
                {'migration_status': 'error'},
                {'migration_status': marker.MIGRATING},
            )
            raise late_request.ended(volume) from error
        raise


def _new_type_of(volume: protocols.Volume) -> str:
    """Return the type that a volume gets when it moves; empty for none.

    The marker of a retype that was refused has replaced what the API wrote.
    """
    if volume.status != marker.RETYPING:
        return ''
    if refused := getattr(volume, retypes.NEW_TYPE, ''):
        return str(refused)
    return record.items_of(volume.id).get(image_record.RECORD_NEW_TYPE, '')


def _refusal(volume: protocols.Volume, reason: str) -> commit.CopyFailed:
    """Return the refusal of a copy, and tell the owner of a retyped volume."""
    if volume.status == marker.RETYPING:
        user_messages.refused(volume, user_messages.Operation.RETYPE, reason)
    return commit.CopyFailed(reason=reason)


def copied_state(
    volume: protocols.Volume, host: dict[str, Any], state: options.Values
) -> options.Values:
    """Return an unchanged copy of an image in the pool of another back end.

    That may not be able to use the image's data pool, so it has its own,
    unless the type names one.
    """
    pool = request.specs_of(volume.volume_type).get(keys.DATA_POOL)
    if pool is None:
        pool = host['capabilities'].get('rbd_volume_data_pool')
    if not pool:
        return state.without([keys.DATA_POOL])
    return state.with_values({keys.DATA_POOL: data_pools.parse_pool(pool)})


def finished(deleted: protocols.Volume) -> None:
    """Remove the keys and the record of a volume that was migrated away.

    None of our code runs on a back end with another driver. To complete the
    migration, Cinder deletes the former image, which must be deleted even if
    this fails, through this driver.
    """
    match = _FORMER.fullmatch(deleted.display_description or '')
    if deleted.migration_status != 'deleting' or not match:
        return
    try:
        _forget(match[1], deleted)
    except exception.VolumeNotFound:
        LOG.debug('Volume %s was deleted after its migration', match[1])
    except Exception:
        LOG.exception('Could not remove the keys of volume %s', match[1])


@contextlib.contextmanager
def image_needed(
    driver: protocols.Driver, deleted: protocols.Volume
) -> Iterator[bool]:
    """Keep migrated volumes away while an image of a migration is deleted.

    The former image of a volume has the name that the volume's own has if it
    comes back. The second volume of a migration that was interrupted while
    Cinder completed it can have the only image of the migrated volume.

    :returns: whether the image to delete is the one of the migrated volume
    :raises VolumeLocked: if the volume could not be locked
    """
    is_needed = False
    with contextlib.ExitStack() as stack:
        if deleted.migration_status == 'deleting' or not deleted.use_quota:
            stack.enter_context(locks.name(driver, deleted.name))
            volumes = volume_use.renamed(deleted.name_id)
            with contextlib.suppress(exception.VolumeNotFound):
                volumes.append(record.stored_volume(deleted.name_id))
            for volume in volumes:
                if volume.id == deleted.id:
                    continue
                if marker.is_migrating(volume):
                    # Cinder may be about to save that it is back.
                    raise locks.VolumeLocked(volume_id=volume.id)
                here = marker.back_end_of(driver)
                is_needed |= volume.name == deleted.name and (
                    # Cinder may not have saved the back end of its image.
                    volume.id != deleted.name_id
                    or image_record.backend_of(volume) == here
                )
        if is_needed:
            LOG.warning(
                'Image %s is kept, because another volume has it', deleted.name
            )
        yield is_needed


def _forget(volume_id: str, deleted: protocols.Volume) -> None:
    volume = record.stored_volume(volume_id)
    recorded = image_record.read(volume)
    # Our driver on the target would have written a record of its own.
    maker = recorded.backend if recorded else ''
    here = image_record.backend_of(volume)
    if volume.project_id != deleted.project_id or (
        image_record.is_same_back_end(
            maker or image_record.backend_of(deleted), here
        )
    ):
        return
    names = sorted(options.ours(volume.metadata))
    for name in names:
        db.volume_metadata_delete(volume._context, volume_id, name)
    record.forget(volume_id)
    if names:
        LOG.info(
            'Volume %(id)s: removed keys that its new back end does not '
            'support: %(keys)s',
            {'id': volume_id, 'keys': ', '.join(names)},
        )
