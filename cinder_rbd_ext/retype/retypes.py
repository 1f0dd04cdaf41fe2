# SPDX-License-Identifier: Apache-2.0

"""Retypes: changes of features in place, and of layouts by a copy.

An image that cannot be changed in place is replaced by a verified copy with
the new layout (:mod:`cinder_rbd_ext.retype.replacement`). Two steps follow:

=========  =============================  ====================================
Step       Before it                      After a kill, or a failure
=========  =============================  ====================================
complete   The row names the copy, or     Recovery repeats this, and saves type
           none was needed.               and status. A failure is logged.
save       Cinder saves the type.         The same.
=========  =============================  ====================================

The step "complete" changes features, limits and keys in place. The stock part
does not change limits that keys set; after it, the image is compared with the
keys, as at each later attachment.

After a failure before the commit, the volume keeps its image and its type, and
its owner gets a message. After the commit nothing is raised: Cinder would copy
the image that the volume had before, and delete the other one. Incremental
backups continue: their snapshots are copied.
"""

from collections.abc import Callable
import dataclasses
from typing import Any

from cinder import context
from cinder import objects
from cinder.objects import fields
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import admission
from cinder_rbd_ext import late_request
from cinder_rbd_ext import locks
from cinder_rbd_ext import option_errors
from cinder_rbd_ext import protocols
from cinder_rbd_ext import reasons
from cinder_rbd_ext import record
from cinder_rbd_ext import type_specs
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import replacement
from rbd_volume_options import features
from rbd_volume_options import image_handles
from rbd_volume_options import image_record
from rbd_volume_options import options
from rbd_volume_options import request
from rbd_volume_options import retype_plan

LOG = logging.getLogger(__name__)

# Statuses of the attachments of a server.
_ATTACHED = (
    fields.VolumeAttachStatus.ATTACHED,
    fields.VolumeAttachStatus.ATTACHING,
)

#: Why Cinder must not copy a volume whose retype was refused either. An
#: attribute and not a field: Cinder stores the fields of the volume.
NOT_COPIED = '_rbd_not_copied'
#: The id of the type of a retype that was refused, in the same way. Cinder
#: may migrate the volume next, and then saves this type.
NEW_TYPE = '_rbd_new_type'

Update = dict[str, Any]
#: The stock driver's part of a retype.
Stock = Callable[[], tuple[bool, Update | None]]


class Retypes:
    """Retypes of the volumes of a back end."""

    def __init__(
        self, driver: protocols.Driver, own: replacement.Replacements
    ) -> None:
        self._driver = driver
        self._replacements = own

    def retype(
        self,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
        stock: Stock,
    ) -> tuple[bool, Update | None]:
        """Retype a volume.

        :returns: whether the image matches the new type, and the model update.
            Otherwise the volume is unchanged, and the retype requires a
            migration by Cinder.
        :raises VolumeOptionRefused: for options that are not possible on any
            volume
        """
        with self._replacements.requested(volume, new_type.id) as running:
            record.forget_reason(
                volume.id,
                reasons.RETYPE,
                reasons.LAYOUT,
            )
            with option_errors.of_volume(
                volume,
                self._driver.backend_name,
                user_messages.Operation.RETYPE,
            ):
                decided = self.make_plan(volume, new_type)
            reason = self._reason_against(volume, new_type, decided)
            if reason is None and decided.target:
                reason = self._copied(running, decided.target)
            if reason is None:
                running.is_done = True
                return True, self._completed(running, new_type, decided, stock)
        LOG.info(
            'Retype of volume %(id)s needs a migration: %(obstacle)s; '
            'the image is not converted: %(why)s',
            {'id': volume.id, 'obstacle': decided.obstacle, 'why': reason},
        )
        user_messages.refused(volume, user_messages.Operation.LAYOUT, reason)
        if record.stored(volume.id).status != marker.RETYPING:
            # Cinder must not migrate the volume either.
            raise late_request.ended(volume)
        # Cinder migrates the same object next, if the caller allows.
        setattr(volume, NEW_TYPE, new_type.id)
        if reason in admission.FOR_ALL_COPIES:
            setattr(volume, NOT_COPIED, reason)
        return False, None

    def _completed(
        self,
        running: replacement.Request,
        new_type: protocols.VolumeType,
        decided: retype_plan.RetypePlan,
        stock: Stock,
    ) -> Update | None:
        """Act as :meth:`complete`; after a copy, nothing is raised."""
        volume = running.volume
        try:
            return self.complete(
                volume, new_type, decided, stock, running.held
            )
        except Exception:
            if not decided.is_copied:
                raise
            LOG.exception(
                'Volume %s has its new image, whose features, limits or keys '
                'could not be changed; trying again when it is attached, '
                'detached or changed',
                volume.id,
            )
        return None

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
        specs = type_specs.with_maxima(new_type, request.metadata_of(current))
        return retype_plan.Retype(current, specs, settings).make_plan(
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
        return self._invalid_limit(new_type)

    def _invalid_limit(self, new_type: protocols.VolumeType) -> str | None:
        """Return that the stock driver cannot set a limit; None if it can.

        It sets the limits of QoS specs after the commit, and reads them as
        whole numbers.
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
        self, running: replacement.Request, target: options.Values
    ) -> str | None:
        """Replace the image by a copy; return why it is unchanged, or None."""
        volume = running.volume
        pool = str(self._driver.configuration.rbd_pool)
        try:
            return self._replacements.replace(running, pool, target)
        except commit.UnknownOutcome:
            raise
        except Exception as error:
            LOG.exception('Could not convert volume %s', volume.id)
            return _told(error)

    def complete(
        self,
        volume: protocols.Volume,
        new_type: protocols.VolumeType,
        decided: retype_plan.RetypePlan,
        stock: Stock,
        held: locks.Held,
    ) -> Update | None:
        """Change the image in place, and record the result.

        This can be repeated. It returns the model update of the stock driver.

        :param volume: the object that is saved afterwards
        :param held: the lock of the volume
        :raises LockLost: if it has ended: the volume may have its former type
            again
        """
        held.check()
        _, update = stock()
        if decided.stock_changes:
            # The stock driver has changed the features.
            decided = self.make_plan(volume, new_type)
        held.check()
        self._change_features(volume, decided)
        record.remove_keys(
            volume, decided.acceptance, self._driver.backend_name
        )
        # Without the keys that were removed.
        self._driver.configurations.follow(volume, new_type)
        return update

    def _change_features(
        self, volume: protocols.Volume, decided: retype_plan.RetypePlan
    ) -> None:
        """Give the image the features of the new type, and record it.

        The image is opened for writing only if it changes.
        """
        images = self._driver.images
        origins = decided.target.origins if decided.target else None
        stored = record.stored(volume.id)
        if decided.enable or decided.disable:
            with images.opened(volume.name) as image:
                image_handles.set_features(image, decided.disable, False)
                enabled = image_handles.set_features(
                    image, decided.enable, True
                )
                if enabled & features.MAP_OFF:
                    image_handles.rebuild_object_maps(
                        image,
                        lambda snapshot: images.opened(
                            volume.name, snapshot=snapshot
                        ),
                    )
            origins = retype_plan.origins_of_features(
                image_record.origins(stored) or {},
                decided.to_default,
            )
        state = images.state_of(volume.name)
        if origins is None:
            origins = image_record.origins(stored)
        back_end = image_record.backend_of(volume)
        record.replace(
            volume,
            image_record.Record(state.with_origins(origins), back_end),
            decided.acceptance.kept,
        )
        # A copy inherits a mark that is not valid for it.
        images.mark(volume.name)


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
    if isinstance(error, commit.CopyFailed):
        return 'the image was changed or could not be copied correctly'
    if isinstance(error, children.ChildFailed):
        return 'Ceph could not copy the image, or the copy was not correct'
    return f'the image could not be copied ({type(error).__name__})'
