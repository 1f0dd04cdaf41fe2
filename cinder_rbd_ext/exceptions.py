#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Exceptions that Cinder's volume service sees."""

from cinder import exception
from cinder.i18n import _

from rbd_volume_options import wire


class VolumeOptionRefused(exception.MetadataUpdateFailure):
    """An ``rbd:`` option can't be had.

    A ``MetadataUpdateFailure`` since Cinder sends a volume whose creation
    failed with one of those to no other backend
    (``OnFailureRescheduleTask.no_reschedule_types``). Another backend could
    be none of ours, and would ignore the option without a word.
    """

    # Not translated: Horizon recognizes it.
    message = f'{wire.REFUSED}%(reason)s'


class ImageNotMade(exception.VolumeBackendAPIException):
    """An RBD image could not be made, as librbd or librados said."""

    message = _('RBD image %(name)s could not be made: %(reason)s')


class InvalidBackendOptions(exception.InvalidConfigurationValue):
    """A backend's section of cinder.conf can't be used."""

    message = _('Backend %(backend)s: %(reason)s')


class AttachmentRefused(exception.InvalidVolume):
    """An attachment can't have the cache mode that is asked for.

    :ivar reason: why, as tenants may read it
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason
