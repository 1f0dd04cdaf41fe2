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

"""The selection of the cache mode of a connection, by the driver."""

import functools
import sys
from typing import Any

from cinder import exception
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext.attach import agreement
from cinder_rbd_ext.attach import conf_rbd_cache
from cinder_rbd_ext.attach import host_modes
from cinder_rbd_ext.attach import refused_attachment
from cinder_rbd_ext.attach import requester
from rbd_volume_options import cache_modes
from rbd_volume_options import errors

LOG = logging.getLogger(__name__)


class Connections:
    """Passes a cache mode only to hosts that offer it.

    See :mod:`cinder_rbd_ext.attach.requester` for the connections that are
    checked.

    :param driver: the driver, which provides connections and settings
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def mode(
        self, volume: Any, connector: Any
    ) -> cache_modes.CacheMode | None:
        """Return the mode of a new attachment; None to leave it to the host.

        Only the QEMU process of a server uses a mode. Other connections are
        never refused because of one.

        :raises AttachmentRefused: if the mode is not allowed or not offered;
            :meth:`pass_on_refusal` turns it into HTTP 400
        """
        if connector and not isinstance(connector, requester.OwnConnector):
            return self._agreed(volume, connector)
        return None

    def pass_on_refusal(self) -> None:
        """Raise the refusal that is being handled as HTTP 400.

        Cinder's manager wraps each exception of ``initialize_connection`` in a
        ``VolumeBackendAPIException``. That is HTTP 500, and Nova repeats the
        request four times. Before that, the ``except`` clause of the manager
        calls ``remove_export``, whose exceptions are not wrapped.

        :raises InvalidVolume: the only class for which the response to both
            the creation and the update of an attachment is 400. It must be
            from Cinder's own module, because RPC serializes no other
            exceptions.
        """
        handled = sys.exc_info()[1]
        if isinstance(handled, exceptions.AttachmentRefused):
            raise exception.InvalidVolume(reason=handled.reason) from handled

    def _agreed(
        self, volume: Any, connector: Any
    ) -> cache_modes.CacheMode | None:
        """Return the mode of a new attachment; None to leave it to the host.

        :raises AttachmentRefused: if the mode is not allowed or not offered
        """
        current = requester.current(volume)
        consumer = requester.of_connection(current, connector)
        if consumer is requester.Consumer.OTHER:
            return None
        judge = functools.partial(
            self._judge, volume.id, host_modes.host_of(connector)
        )
        found = agreement.agree(
            volume,
            connector,
            self._driver.settings,
            consumer is requester.Consumer.SERVER,
            functools.partial(requester.replaced, current),
        )
        if found.error:
            judge(found.error, refuse=found.refused)
        asked = found.asked
        if asked:
            try:
                conf_rbd_cache.check(asked, self.cache_override(volume))
            except errors.OptionError as error:
                # Not for shared volumes: their mode is not a request.
                judge(error, refuse=found.strict and not asked.shared)
        if refused_attachment.of_volume(current.admin_metadata):
            refused_attachment.forget(volume.id)
        return asked.mode if asked else None

    def _judge(
        self,
        volume_id: str,
        host: str,
        error: errors.OptionError,
        refuse: bool,
    ) -> None:
        """Refuse an attachment, or log why it does not get its mode.

        Only the log names the host, because tenants read the exception's text.

        :raises AttachmentRefused: if ``refuse`` is set
        """
        about = {'id': volume_id, 'host': host, 'error': error}
        if not refuse:
            LOG.warning(
                'Volume %(id)s is attached to host %(host)s without the '
                'requested cache mode: %(error)s',
                about,
            )
            return
        LOG.error(
            'Volume %(id)s is not attached to host %(host)s: %(error)s', about
        )
        refused_attachment.record_reason(volume_id, str(error))
        raise exceptions.AttachmentRefused(f'not attached: {error}') from error

    def cache_override(self, volume: Any) -> bool | None:
        """Return the image's own ``rbd_cache``; None if unset or unreadable.

        If the image cannot be read, the next service that opens it reports the
        reason.
        """
        try:
            with rbd.RBDVolumeProxy(
                self._driver, volume.name, read_only=True
            ) as image:
                return conf_rbd_cache.of_image(image)
        except (
            self._driver.rbd.Error,
            exception.VolumeBackendAPIException,
        ) as error:
            LOG.warning(
                'Could not read the cache setting of %(name)s: %(error)s',
                {'name': volume.name, 'error': error},
            )
            return None
