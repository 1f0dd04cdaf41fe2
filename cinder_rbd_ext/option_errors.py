# SPDX-License-Identifier: Apache-2.0

"""Handling of options that the driver refuses."""

from collections.abc import Iterator
import contextlib

from cinder import exception
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import protocols
from cinder_rbd_ext import user_messages
from rbd_volume_options import errors
from rbd_volume_options import registry

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def of_volume(
    volume: protocols.Volume,
    backend: str,
    operation: user_messages.Operation,
    told_by_cinder: bool = False,
) -> Iterator[None]:
    """Tell the tenant of an ``OptionError`` and raise one of Cinder's.

    A Glance image that Cinder cannot use is such a reason, too: Cinder tries
    another back end, and tells that there is none.

    :raises VolumeOptionRefused: if an option is refused
    """
    try:
        yield
    except (exception.ImageUnacceptable, exception.ImageCopyFailure) as error:
        user_messages.refused(volume, operation, error.msg)
        raise
    except errors.OptionError as error:
        LOG.error(
            'Volume %(id)s on back end %(backend)s: %(error)s',
            {'id': volume.id, 'backend': backend, 'error': error},
        )
        user_messages.refused(volume, operation, error, told_by_cinder)
        raise exceptions.VolumeOptionRefused(reason=str(error)) from error


@contextlib.contextmanager
def of_back_end(backend: str) -> Iterator[None]:
    """Raise ``InvalidBackendOptions`` for an option of a back end."""
    try:
        yield
    except errors.OptionError as error:
        renamed = error.renamed(registry.conf_names())
        raise exceptions.InvalidBackendOptions(
            backend=backend, reason=str(renamed)
        ) from error
