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

"""Exceptions of the driver when the creation of an image fails."""

from collections.abc import Iterator
import contextlib

from cinder import exception
from oslo_concurrency import processutils

from cinder_rbd_ext import exceptions
from cinder_rbd_ext.imaging import creations
from rbd_volume_options import errors

# Classes that Cinder's flows know (CreateVolumeFromSpecTask treats a failed
# command differently from other failures), and the one that the driver turns
# into a refusal.
_KNOWN = (
    exception.CinderException,
    processutils.ProcessExecutionError,
    errors.OptionError,
)


@contextlib.contextmanager
def naming(creation: creations.Creation) -> Iterator[None]:
    """Raise the first failure, as an exception of Cinder.

    The stock driver often reports a failure as a failure of its own clean-up
    or of replication. An exception of librbd must not leave the driver: if the
    image-volume cache fails, Cinder catches ``CinderException``, downloads the
    Glance image instead and deletes its internal volume.

    :raises ImageNotMade: for a failure of librbd, librados or this driver
    """
    try:
        yield
    except Exception as error:
        first = creation.failure or error
        if not isinstance(first, _KNOWN):
            reason = f'{type(first).__name__}: {first}'
            raise exceptions.ImageNotMade(
                name=creation.name, reason=reason
            ) from first
        if first is not error:
            raise first from error
        raise
