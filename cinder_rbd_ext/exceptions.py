# SPDX-License-Identifier: Apache-2.0

"""Exceptions that the driver raises to Cinder's volume service."""

from cinder import exception

from cinder_rbd_ext.i18n import _
from rbd_volume_options import errors


class VolumeOptionRefused(exception.MetadataUpdateFailure):
    """An ``rbd:`` option is invalid or not allowed.

    Cinder does not reschedule a volume whose creation failed with this base
    class (``OnFailureRescheduleTask.no_reschedule_types``). Another back end
    could have another driver, which would silently ignore the option.
    """

    # The prefix is not translated, because Horizon recognizes it.
    message = f'{errors.REFUSED}%(reason)s'


class ImageNotMade(exception.VolumeBackendAPIException):
    """An RBD image could not be created; the text has librbd's error."""

    message = _('RBD image %(name)s could not be created: %(reason)s')


class ImageMigrating(exception.VolumeBackendAPIException):
    """An operation is not possible on an image in a live migration."""

    message = _(
        'RBD image %(name)s is in a live migration (rbd migration). Try again '
        'when an administrator has committed or aborted it.'
    )


class TooManyTransfers(exception.VolumeBackendAPIException):
    """A volume cannot be uploaded or copied, because too many others wait."""

    message = _(
        'Too many volumes are being uploaded or copied. Repeat the request '
        'when one of them is finished.'
    )


class InvalidBackendOptions(exception.InvalidConfigurationValue):
    """The section of a back end in cinder.conf is invalid."""

    message = _('Back end %(backend)s: %(reason)s')


class AttachmentRefused(exception.InvalidVolume):
    """An attachment cannot have its mode; ``reason`` is for tenants."""
