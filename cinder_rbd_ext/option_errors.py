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

"""Handling of options that the driver refuses."""

from collections.abc import Iterator
import contextlib
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import record
from rbd_volume_options import errors
from rbd_volume_options import keys

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def of_volume(
    volume: Any, backend: str, to_tenant: bool = False
) -> Iterator[None]:
    """Log an ``OptionError`` and raise one of Cinder's exceptions instead.

    :param backend: the back end's name, for the log
    :param to_tenant: whether the volume is about to change to status
        ``error``, so that the reason is recorded for its tenant
    :raises VolumeOptionRefused: if an option is refused
    """
    try:
        yield
    except errors.OptionError as error:
        LOG.error(
            'Volume %(id)s on back end %(backend)s: %(error)s',
            {'id': volume.id, 'backend': backend, 'error': error},
        )
        if to_tenant:
            recorded(volume.id, error)
        raise exceptions.VolumeOptionRefused(reason=str(error)) from error


def recorded(volume_id: str, error: errors.OptionError) -> None:
    """Record the reason for the tenant, without the names of pools."""
    told = error.hidden() if error.key == keys.DATA_POOL else error
    record.refused(volume_id, str(told))


@contextlib.contextmanager
def of_back_end(backend: str) -> Iterator[None]:
    """Raise one of Cinder's exceptions for an option of a back end.

    :raises InvalidBackendOptions: if an option is invalid
    """
    try:
        yield
    except errors.OptionError as error:
        raise exceptions.InvalidBackendOptions(
            backend=backend, reason=str(error.renamed(keys.OPTIONS))
        ) from error
