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

"""The agreement of the driver with a compute host on a cache mode."""

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
    """Hands a cache mode to hosts that offer it, and to no others.

    :mod:`cinder_rbd_ext.attach.requester` says which connections are checked.

    :param driver: the driver, which gives connections and settings
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def mode(
        self, volume: Any, connector: Any
    ) -> cache_modes.CacheMode | None:
        """Return the mode of a new attachment; None to leave it to the host.

        Nobody but a server's QEMU has a use for a mode, and nobody else is
        refused for one.

        :raises AttachmentRefused: for a mode that is not allowed or offered;
            :meth:`pass_on_refusal` makes HTTP 400 of it
        """
        if connector and not isinstance(connector, requester.OwnConnector):
            return self._agreed(volume, connector)
        return None

    def pass_on_refusal(self) -> None:
        """Raise the refusal that is being handled, as HTTP 400.

        Cinder's manager wraps every exception of ``initialize_connection`` in
        a ``VolumeBackendAPIException``, which is HTTP 500 and which Nova
        sends again four times. Before that, in its ``except`` clause, it
        calls ``remove_export``, and what that one raises passes on unwrapped.

        :raises InvalidVolume: the only class with which both requests, to
            create and to update an attachment, are answered with 400; of
            Cinder's own module, since RPC carries no other
        """
        handled = sys.exc_info()[1]
        if isinstance(handled, exceptions.AttachmentRefused):
            raise exception.InvalidVolume(reason=handled.reason) from handled

    def _agreed(
        self, volume: Any, connector: Any
    ) -> cache_modes.CacheMode | None:
        """Return the mode of a new attachment; None to leave it to the host.

        :raises AttachmentRefused: for a mode that is not allowed or offered
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
                # Shared volumes were always attached: nobody asks for a mode.
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
        """Refuse an attachment, or tell what its mode comes to.

        The host is named in the log alone: tenants read the exception's text.

        :raises AttachmentRefused: to refuse
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
        refused_attachment.record_reason(volume_id, str(error))
        raise exceptions.AttachmentRefused(f'not attached: {error}') from error

    def cache_override(self, volume: Any) -> bool | None:
        """Return the image's own ``rbd_cache``; None where it can't be read.

        That is found out, with its reason, by who opens the image next.
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
                'Could not look for a cache setting of %(name)s: %(error)s',
                {'name': volume.name, 'error': error},
            )
            return None
