# SPDX-License-Identifier: Apache-2.0

"""Nova's compute manager, which starts whatever a volume requests."""

from nova.compute import manager
from oslo_log import log as logging

from nova_rbd_cache import exceptions

LOG = logging.getLogger(__name__)


class RBDCacheManager(manager.ComputeManager):
    """The manager of a host with cache modes."""

    # Nova's tests compare signatures with those of the stock class, which
    # have no annotations.
    def _init_instance(self, context, instance):  # type: ignore[no-untyped-def]
        """Initialize a server when nova-compute starts.

        Nova repeats a reboot that was interrupted, and would stop if it fails.
        The server is already in ``ERROR`` then, with the refusal as its fault.
        """
        try:
            super()._init_instance(context, instance)
        except exceptions.CacheModeRefused as error:
            LOG.error(
                'Server %(id)s is not rebooted: %(error)s',
                {'id': instance.uuid, 'error': error},
            )
