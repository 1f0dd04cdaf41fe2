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

"""The stock driver, agreeing with compute hosts on cache modes."""

import functools
from typing import Any

from cinder import exception
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import attachment
from cinder_rbd_ext import consumers
from cinder_rbd_ext import handshake
from cinder_rbd_ext import image_making
from cinder_rbd_ext import images
from cinder_rbd_ext import record
from rbd_volume_options import cache_modes
from rbd_volume_options import errors

LOG = logging.getLogger(__name__)


class AttachingDriver(image_making.ImageMakingDriver):
    """Hands a cache mode to hosts that offer it, and to no others.

    Whom it judges is told in :mod:`cinder_rbd_ext.consumers`.
    """

    def initialize_connection(self, volume: Any, connector: Any) -> Any:
        """Return how to attach a volume, its cache mode included.

        Nobody but a server's QEMU has a use for a mode, and nobody else is
        refused for one.

        :raises InvalidInput: for a mode that can't be had there
        """
        mode = None
        if connector and not isinstance(connector, consumers.OwnConnector):
            mode = self._agreed(volume, connector)
        connection = super().initialize_connection(volume, connector)
        if mode is not None:
            connection['data']['cache_mode'] = mode.value
        return connection

    def _attach_volume(
        self, context: Any, volume: Any, properties: Any, remote: bool = False
    ) -> Any:
        """Attach a volume to this service, known as Cinder's own doing."""
        if not remote:
            properties = consumers.OwnConnector(properties)
        return super()._attach_volume(context, volume, properties, remote)

    def _agreed(
        self, volume: Any, connector: Any
    ) -> cache_modes.CacheMode | None:
        """Return the mode of a new attachment; None to leave it to the host.

        :raises InvalidInput: for a mode that can't be had
        """
        current = consumers.current(volume)
        consumer = consumers.of_connection(current, connector)
        if consumer is consumers.Consumer.OTHER:
            return None
        judge = functools.partial(
            self._judge, volume.id, handshake.host_of(connector)
        )
        certain = consumer is consumers.Consumer.SERVER
        strict = certain and self.settings.strict_cache_mode
        mode = None
        try:
            asked = attachment.asked(volume, self.settings)
        except errors.OptionError as error:
            judge(error, refuse=certain)
            return None
        if asked:
            try:
                handshake.check(asked, handshake.offer_of(connector))
                mode = asked.mode
            except errors.OptionError as error:
                judge(error, refuse=strict)
        if asked and mode:
            try:
                handshake.check_override(asked, self._cache_override(volume))
            except errors.OptionError as error:
                # Shared volumes were always attached: nobody asks for a mode.
                judge(error, refuse=strict and not asked.shared)
        if record.attach_refusal(current.admin_metadata):
            record.attach_agreed(volume.id)
        return mode

    def _judge(
        self,
        volume_id: str,
        host: str,
        error: errors.OptionError,
        refuse: bool,
    ) -> None:
        """Refuse an attachment, or tell what its mode comes to.

        :raises InvalidInput: to refuse; a class of Cinder's, which travels to
            the API by RPC
        """
        about = {'id': volume_id, 'host': host, 'error': error}
        if not refuse:
            LOG.warning(
                'Volume %(id)s is attached to host %(host)s all the same: '
                '%(error)s',
                about,
            )
            return
        LOG.error(
            'Volume %(id)s is not attached to host %(host)s: %(error)s', about
        )
        record.attach_refused(volume_id, str(error))
        raise exception.InvalidInput(
            reason=f'not attached to host {host}: {error}'
        ) from error

    def _cache_override(self, volume: Any) -> bool | None:
        """Return the image's own ``rbd_cache``; None where it can't be read.

        That is found out, with its reason, by who opens the image next.
        """
        try:
            with rbd.RBDVolumeProxy(
                self, volume.name, read_only=True
            ) as image:
                return images.cache_override(image)
        except (self.rbd.Error, exception.VolumeBackendAPIException) as error:
            LOG.warning(
                'Could not look for a cache setting of %(name)s: %(error)s',
                {'name': volume.name, 'error': error},
            )
            return None
