# SPDX-License-Identifier: Apache-2.0

"""Retypes: changes of features in place, and of layouts by copy and swap.

An image that cannot be changed in place is copied by ``rbd deep cp`` to an
image with the new layout. The copy is verified and replaces the image by two
renames. All of this holds the exclusive lock of the volume
(:mod:`cinder_rbd_ext.locks`).

Each step, what holds before it, and what an interruption in it leaves:

=========  =============================  ====================================
Step       Before it                      After a kill, or a failure
=========  =============================  ====================================
marker     Cinder has set the status.     Without the marker, the request is
                                          lost: the service that starts next
                                          returns the volume to its old status.
                                          Later, the marker alone: the same.
obstacles  The marker names the image.    As above.
place      No obstacle was found.         As above: the marker alone.
copy       The copy has its place, and    A partial copy, whose name contains
           room.                          the request. It is removed, or stays
                                          in the trash as long as a client has
                                          it open; the volume is unchanged.
verify     The copy is complete.          A copy. It is removed; the volume is
                                          unchanged.
compare    The source has no watcher, no  As above.
again      clone, and the same snapshots
           and time of modification as
           before the copy.
marker     The copy equals the source.    As above: the swap has not begun.
swap       The marker names both images.  One of the two images has the name,
                                          or none. Recovery completes the
                                          swap: no step removes data.
complete   The copy has the volume's      Recovery completes: features, QoS
           name, the source another.      limits, record and keys, then type
                                          and status.
note       Cinder has saved the type.     The marker. Recovery continues.
keep       The database has the id of     The source has its other name, or is
           the source.                    in the trash. Recovery moves it
                                          there, and the marker is removed.
remove     The trash has the source that  An earlier source, complete or not,
           the database names, and an     in the trash. Each service of the
           earlier one. The lock is not   back end removes it after its next
           held.                          statistics.
=========  =============================  ====================================

The step "complete" is the whole change if no copy is needed. What it does with
the limits on reads and writes:

==========  ============================  ====================================
Step        Before it                     After a kill, or a failure
==========  ============================  ====================================
stock       The image has the limits of   Some limits of QoS specs. The driver
            the former type.              does not let the stock driver change
                                          those of keys.
features,   The image has the limits of   Recovery compares the limits with
record,     the new QoS specs, and those  the keys after it has returned or
keys        of the former keys.           completed the retype. So does each
                                          later attachment.
configure   The volume has only keys      As above.
            that its new type accepts.
==========  ============================  ====================================

After a failure before the swap, the copy is removed, the volume keeps its
type, and its owner gets a message. After the swap, the step is repeated until
it succeeds. Invalid QoS specs and too little room are therefore looked for
before the copy. Every :data:`children.INTERVAL` seconds, before the swap and
before each attempt to complete it, the request looks for a reset of the status
and for the end of its lock: recovery (:mod:`cinder_rbd_ext.retype.recovery`)
continues then, and the request ends.

The copy continues to be the volume that Cinder's incremental backups refer to:
their snapshots are copied.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import time
from typing import Any

from cinder import context
from cinder import objects
from cinder.objects import fields
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import admission
from cinder_rbd_ext import locks
from cinder_rbd_ext import option_errors
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import failures
from cinder_rbd_ext.retype import leftovers
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import swap
from cinder_rbd_ext.retype import trash
from rbd_volume_options import features
from rbd_volume_options import image_handles
from rbd_volume_options import image_record
from rbd_volume_options import qos
from rbd_volume_options import retype_plan

LOG = logging.getLogger(__name__)

#: Seconds before a step after the swap is repeated.
REPEAT = 30.0

# Statuses of the attachments of a server.
_ATTACHED = (
    fields.VolumeAttachStatus.ATTACHED,
    fields.VolumeAttachStatus.ATTACHING,
)

#: Why Cinder must not copy a volume whose retype was refused either. An
#: attribute and not a field: Cinder stores the fields of the volume.
NOT_COPIED = '_rbd_not_copied'

Update = dict[str, Any]
#: The stock driver's part of a retype.
Stock = Callable[[], tuple[bool, Update | None]]


class Retypes:
    """Retypes of the volumes of a back end."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        #: Also those of migrations.
        self.places = admission.Copies(driver)
        self.leftovers = leftovers.Leftovers(driver)

    @contextlib.contextmanager
    def announced(
        self,
        request_id: str,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
    ) -> Iterator[Callable[[], None]]:
        """Have a marker during the wait for the lock.

        The sooner it is written, the shorter a kill leaves the volume in
        ``retyping``. It is not a begun retype, for which others wait.

        If recovery may act on the volume after a failure, this request ends.

        :returns: the function that :func:`cinder_rbd_ext.volume_use.replacing`
            calls before it lets others use the image
        """

        def announce() -> None:
            if marker.of_volume(volume.id) is None:
                mark = marker.Marker(request_id, new_type.id, source_id='')
                marker.begin(volume.id, mark)

        def settle() -> None:
            self.leftovers.settle_other(request_id, volume.id)
            announce()

        try:
            announce()
            yield settle
        except locks.LockLost as error:
            raise marker.Superseded(volume.id) from error
        except Exception as error:
            # Without the database, nobody knows: it is waited for. Of a volume
            # that was deleted, Cinder's manager finds nothing to migrate.
            status = self._repeated(
                volume.id, lambda: marker.status_of(volume.id)
            )
            if status not in (None, marker.RETYPING):
                raise marker.Superseded(volume.id) from error
            raise

    def retype(
        self,
        request_id: str,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
        stock: Stock,
        held: locks.Exclusive,
    ) -> tuple[bool, Update | None]:
        """Retype a volume.

        :returns: whether the image matches the new type, and the model update.
            Otherwise the volume is unchanged, and the retype requires a
            migration by Cinder.
        :raises VolumeOptionRefused: for options that are not possible on any
            volume
        """
        if marker.status_of(volume.id) != marker.RETYPING:
            # It may have waited so long that the request was given up.
            earlier = marker.of_volume(volume.id)
            if earlier and earlier.request == request_id:
                with leftovers.attempting(volume.id):
                    self.leftovers.settle(volume.id)
            raise marker.Superseded(volume.id)
        self.leftovers.settle_other(request_id, volume.id)
        source_id = swap.image_id(self._driver, volume.name)
        mark = marker.Marker(request_id, new_type.id, source_id)
        marker.begin(volume.id, mark)
        with option_errors.of_volume(
            volume, self._driver.backend_name, user_messages.Operation.RETYPE
        ):
            decided = self.make_plan(volume, new_type)
        reason = self._reason_against(volume, new_type, decided)
        if reason is None and decided.target:
            reason = self._copied(volume, mark, decided.target, held)
        if reason is not None:
            LOG.info(
                'Retype of volume %(id)s needs a migration: %(obstacle)s; '
                'the image is not converted: %(why)s',
                {'id': volume.id, 'obstacle': decided.obstacle, 'why': reason},
            )
            refuse(volume, reason)
            if reason in admission.FOR_ALL_COPIES:
                # Cinder migrates the same object next, if the caller allows.
                setattr(volume, NOT_COPIED, reason)
            self._check_applies(volume.id, mark, held)
            return False, None

        def complete() -> Update | None:
            self._check_applies(volume.id, mark, held)
            update = self.complete(volume, new_type, decided, stock)
            current = self._check_applies(volume.id, mark, held)
            # Cinder has the time until the marker is stale to save.
            marker.write(volume.id, current)
            return update

        if decided.is_copied:
            return True, self._repeated(volume.id, complete)
        return True, complete()

    def _check_applies(
        self, volume_id: str, mark: marker.Marker, held: locks.Exclusive
    ) -> marker.Marker:
        """Return the marker if no other service or request acts on a volume.

        :param mark: an earlier state of the marker
        """
        try:
            held.check()
        except locks.LockLost as error:
            raise marker.Superseded(volume_id) from error
        current = marker.of_request(volume_id, mark.request)
        if current is None:
            raise marker.Superseded(volume_id)
        return current

    def make_plan(
        self,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
        is_copied: bool = False,
    ) -> retype_plan.RetypePlan:
        """Return the plan of a retype of a volume.

        :param is_copied: whether the image already is the copy
        """
        with rbd.RADOSClient(self._driver) as client:
            settings = dataclasses.replace(
                self._driver.settings,
                ceph_features=features.from_mask(client.features),
                ceph_striping=self._driver.rbd.default_striping(client.ioctx),
            )
            state = self._driver.images.state_of(
                volume.name, client=client.cluster, ioctx=client.ioctx
            )
        current = record.stored_volume(volume.id)
        return retype_plan.Retype.of(current, new_type, settings).make_plan(
            state, is_copied
        )

    def _reason_against(
        self,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
        decided: retype_plan.RetypePlan,
    ) -> str | None:
        """Return why the volume cannot be retyped here; None if it can."""
        obstacle = decided.obstacle
        if obstacle and decided.is_migrated:
            return str(obstacle.for_tenants())
        if not decided.is_copied:
            return None
        if _is_attached(volume):
            return image_handles.IN_USE
        return self._invalid_limit(new_type) or self.slow_limit(volume.id)

    def slow_limit(self, volume_id: str) -> str | None:
        """Return that limits of the owner make the comparison slow, if so.

        It holds one of the few places. Only Ceph 16, which lacks the option,
        applies limits to it.
        """
        current = record.stored_volume(volume_id)
        slow = image_record.delaying(
            qos.COMPARISON, current, current.admin_metadata
        )
        if not (slow and self._driver.configuration.rbd_conversion_verify):
            return None
        with rbd.RADOSClient(self._driver) as client:
            if client.cluster.conf_get('rbd_qos_exclude_ops') is not None:
                return None
        return (
            f'these limits make it slow: {", ".join(slow)}. Remove them first'
        )

    def _invalid_limit(self, new_type: protocols.VolumeType) -> str | None:
        """Return that the stock driver cannot set a limit; None if it can.

        It sets the limits of QoS specs after the swap, and reads them as whole
        numbers.
        """
        specs = self._driver._qos_specs_from_volume_type(new_type) or {}
        for name in sorted(specs.keys() & rbd.QOS_KEY_MAP.keys()):
            if not str(specs[name]).isdecimal():
                return (
                    f'the QoS specs of volume type {new_type.name} have '
                    f'{name} = {specs[name]!r}, which is not a whole number'
                )
        return None

    def _copied(
        self,
        volume: protocols.Volume,
        mark: marker.Marker,
        target: retype_plan.Target,
        held: locks.Exclusive,
    ) -> str | None:
        """Replace the image by a copy; return why it is unchanged, or None."""
        images = swap.Images(self._driver, volume.name, mark)
        copy = copies.Copy(images)
        try:
            with self.places.place(
                copy,
                target.state,
                functools.partial(marker.beat, volume.id, mark, held),
            ) as reason:
                if reason:
                    return reason
                mark = copy.make_verified(volume.id, mark, target.state, held)
                held.add(mark.copy_id)
        except Exception as error:
            LOG.exception('Could not convert volume %s', volume.id)
            with leftovers.attempting(volume.id):
                trash.discard(images)
            if isinstance(error, (marker.Cancelled, locks.LockLost)):
                raise marker.Superseded(volume.id) from error
            return _told(error)

        def replace() -> None:
            self._check_applies(volume.id, mark, held)
            images.swap(mark.copy_id)

        self._repeated(volume.id, replace)
        return None

    def _repeated(self, volume_id: str, step: Callable[[], Any]) -> Any:
        """Run a step after the swap has begun, until it succeeds.

        Until then the volume keeps the status ``retyping``, in which it cannot
        be used. The attempts end if an administrator resets the status.
        """
        seen = failures.Failures()
        while True:
            try:
                return step()
            except Exception:
                seen.log(
                    'The retype of volume %(id)s is interrupted',
                    {'id': volume_id},
                )
            try:
                if marker.status_of(volume_id) != marker.RETYPING:
                    raise marker.Superseded(volume_id)
            except Exception:
                seen.log(
                    'Could not read the status of volume %(id)s',
                    {'id': volume_id},
                )
            time.sleep(REPEAT)

    def complete(
        self,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
        decided: retype_plan.RetypePlan,
        stock: Stock,
    ) -> Update | None:
        """Change the image in place, and record the result.

        This can be repeated. It returns the model update of the stock driver.

        :param volume: the object that is saved afterwards
        """
        _, update = stock()
        if decided.stock_changes:
            # The stock driver has changed the features.
            decided = self.make_plan(volume, new_type)
        self._change_features(volume, decided)
        leftovers.remove_keys(self._driver, volume, decided.acceptance)
        # Without the keys that were removed.
        self._driver.configurations.follow(volume, new_type)
        return update

    def _change_features(
        self, volume: protocols.Volume, decided: retype_plan.RetypePlan
    ) -> None:
        """Give the image the features of the new type, and record it.

        The image is opened for writing only if it changes.
        """
        images, change = self._driver.images, decided.change
        origins = decided.target.origins if decided.target else None
        stored = record.stored(volume.id)
        if change.enable or change.disable:
            with images.opened(volume.name) as image:
                image_handles.disable(image, change.disable)
                enabled = image_handles.enable(image, change.enable)
                if enabled & features.MAP_OFF:
                    image_handles.rebuild_object_maps(
                        image,
                        lambda snapshot: images.opened(
                            volume.name, snapshot=snapshot
                        ),
                    )
            origins = retype_plan.origins_of_features(
                image_record.origins(stored) or {},
                change.to_default,
            )
        state = images.state_of(volume.name)
        if origins is None:
            origins = image_record.origins(stored)
        back_end = image_record.backend_of(volume)
        record.replace(
            volume,
            image_record.Record(state, origins, back_end),
            decided.acceptance.kept,
        )
        # A copy inherits a mark that is not valid for it.
        images.mark(volume.name)


def refuse(volume: protocols.Volume, reason: str) -> None:
    """Tell the owner of a volume why its image was not converted."""
    marker.refuse(volume.id, reason)
    user_messages.refused(volume, user_messages.Operation.LAYOUT, reason)


def _is_attached(volume: protocols.Volume) -> bool:
    """Return whether a volume was attached when its retype began, or is now.

    An administrator can reset the status of an attached volume.
    """
    status: str | None = volume.status
    if status == marker.RETYPING:
        status = volume.previous_status
    attachments = objects.VolumeAttachmentList.get_all_by_volume_id(
        context.get_admin_context(), volume.id
    )
    return status == 'in-use' or any(
        each.attach_status in _ATTACHED for each in attachments
    )


def _told(error: Exception) -> str:
    """Return a failure as a text for the requester, without names of pools."""
    if isinstance(error, (swap.CopyFailed, marker.Cancelled)):
        return 'the image was changed or could not be copied correctly'
    if isinstance(error, children.ChildFailed):
        return 'Ceph could not copy the image, or the copy was not correct'
    return f'the image could not be copied ({type(error).__name__})'
