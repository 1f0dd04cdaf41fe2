# SPDX-License-Identifier: Apache-2.0
"""Requests with a connector: attachments and os-initialize_connection.

A connector is a caller's description of a host. The cache modes in it count
only if the caller is a service. nova-scheduler asks for what the next
attachment requires before Nova moves a server, because Cinder gets the
connector of the new host only after Nova has stopped the guest.
"""

from collections.abc import Callable
from collections.abc import Iterator
import datetime
import functools
from typing import Any

from cinder import objects
from cinder import volume as cinder_volume
from cinder.api.openstack import wsgi
from cinder.policies import attachments as attachment_policies
from cinder.policies import volume_actions as action_policies
from oslo_log import log as logging
from oslo_utils import timeutils
from oslo_utils import uuidutils
import webob.exc

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.attach import cache_mode
from cinder_rbd_ext.attach import refused_attachment
from cinder_rbd_ext.attach import replacement
from cinder_rbd_ext.attach import requester
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

# Statuses in which Cinder's API creates the first attachment of a volume.
_FREE = ('available', 'downloading')

Earlier = Callable[[], replacement.Earlier | None]


class AttachmentsController(wsgi.Controller):
    """Extends Cinder's controller of attachments and runs before it.

    A request that Cinder itself refuses is left to Cinder.
    """

    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._door = _Door(reported)

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the connector of a new attachment, if it has one."""
        context = req.environ['cinder.context']
        asked = checks.part_of(body, 'attachment')
        _check_owner(context, asked)
        connector = self._door.connector(context, asked)
        if connector and uuidutils.is_uuid_like(asked.get('volume_uuid')):
            self._check_create(context, asked, connector)
        yield

    def _check_create(
        self,
        context: protocols.Context,
        asked: dict[str, Any],
        connector: dict[str, Any],
    ) -> None:
        server = asked.get('instance_uuid')
        if server is not None and not uuidutils.is_uuid_like(server):
            # Cinder's schema refuses it.
            return
        if not _is_certain(connector, server is not None):
            return
        volume = objects.Volume.get_by_id(context, asked['volume_uuid'])
        if not cache_mode.is_requested(volume):
            return
        same = any(
            each.instance_uuid == server for each in volume.volume_attachment
        )
        if volume.status not in _FREE and not (server and same):
            return
        if _may(context, attachment_policies.CREATE_POLICY, volume):
            self._door.check(
                volume,
                connector,
                server is not None,
                earlier_of(volume.id, server),
            )

    @wsgi.extends
    def update(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the new connector of an attachment."""
        context = req.environ['cinder.context']
        asked = checks.part_of(body, 'attachment')
        connector = self._door.connector(context, asked)
        if connector:
            self._check_update(context, id, connector)
        yield

    def _check_update(
        self, context: protocols.Context, ident: str, connector: dict[str, Any]
    ) -> None:
        attachment = objects.VolumeAttachment.get_by_id(context, ident)
        server = attachment.instance_uuid
        if not _is_certain(connector, server is not None):
            return
        volume = objects.Volume.get_by_id(context, attachment.volume_id)
        if not cache_mode.is_requested(volume) or 'error' in volume.status:
            return
        if not _may(context, attachment_policies.UPDATE_POLICY, attachment):
            return
        self._door.check(
            volume,
            connector,
            server is not None,
            earlier_of(volume.id, server, attachment),
        )


class ConnectionsController(wsgi.Controller):
    """Extends Cinder's controller of volume actions and runs before it."""

    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._door = _Door(reported)

    @wsgi.extends(action='os-initialize_connection')
    def initialize_connection(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the connector of a connection without an attachment."""
        context = req.environ['cinder.context']
        asked = checks.part_of(body, 'os-initialize_connection')
        connector = self._door.connector(context, asked)
        if connector:
            volume = objects.Volume.get_by_id(context, id)
            if cache_mode.is_requested(volume) and _may(
                context, action_policies.INITIALIZE_POLICY, volume
            ):
                current = requester.current(volume)
                self._door.check(
                    volume,
                    connector,
                    requester.of_connection(current, connector)
                    is requester.Consumer.SERVER,
                    functools.partial(replacement.of_waiting, current),
                )
        yield

    @wsgi.extends(action='os-terminate_connection')
    def terminate_connection(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Let only services terminate the connection of a restore.

        The driver restores the keys of the volume when that connection ends.
        """
        context = req.environ['cinder.context']
        volume = objects.Volume.get_by_id(context, id)
        if (
            volume.status in requester.RESTORING
            and _may(context, action_policies.TERMINATE_POLICY, volume)
            and not _is_service(context)
        ):
            raise webob.exc.HTTPBadRequest(
                explanation=f'The status of the volume is {volume.status}. In '
                'this status, only Cinder can end connections of the volume.'
            )
        yield


class _Door:
    """The checks of each connector that the API receives."""

    def __init__(self, reported: pools.ReportedPools) -> None:
        self._reported = reported

    def connector(
        self, context: protocols.Context, asked: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the connector of a request, with modes only from a service.

        The modes of any other caller are removed from the body of the request,
        which is the object that Cinder's controller receives.
        """
        connector = checks.part_of(asked, 'connector')
        if wire.CONNECTOR_CACHE_MODES in connector and not _is_service(
            context
        ):
            LOG.debug(
                'Ignored %(key)s in a connector: the request has no service '
                'token, and policy %(policy)s does not allow it',
                {
                    'key': wire.CONNECTOR_CACHE_MODES,
                    'policy': policies.OFFER_CACHE_MODES,
                },
            )
            del connector[wire.CONNECTOR_CACHE_MODES]
        return connector

    def check(
        self,
        volume: protocols.Volume,
        connector: dict[str, Any],
        for_server: bool,
        earlier: Earlier,
    ) -> None:
        """Check that a volume can be attached with the mode it requests.

        The driver checks what only it knows: the RBD image, and the mode that
        the back end may request for all its volumes. If the scheduler does not
        report what the back end allows, everything is left to the driver,
        because an attachment must not depend on the scheduler.

        :raises HTTPBadRequest: if it cannot; the reason is recorded with the
            volume
        """
        if not _is_certain(connector, for_server):
            return
        settings = self._settings(volume)
        if settings is None:
            return
        agreed = cache_mode.agree(
            volume, connector, settings, certain=True, earlier=earlier
        )
        if agreed.error is None or not agreed.refused:
            return
        LOG.error(
            'Volume %(id)s is not attached to host %(host)s: %(error)s. '
            '%(advice)s.',
            {
                'advice': cache_mode.ADVICE,
                'id': volume.id,
                'host': cache_mode.host_of(connector),
                'error': agreed.error,
            },
        )
        refused_attachment.tell(volume, agreed.error)
        with refusals.bad_request():
            raise agreed.error

    def _settings(
        self, volume: protocols.Volume
    ) -> backend_settings.BackendSettings | None:
        try:
            here = self._reported.holding(volume)
        except webob.exc.HTTPServiceUnavailable as error:
            LOG.warning(
                'The API does not check the cache mode of volume %(id)s, only '
                'the driver does: %(error)s',
                {'id': volume.id, 'error': error.explanation},
            )
            return None
        return here.settings if here else None


def earlier_of(volume_id: str, server: str | None, new: Any = None) -> Earlier:
    """Return a function that finds the attachment that a new one replaces.

    :param new: the new attachment; None if it is not reserved yet
    """

    def look() -> replacement.Earlier | None:
        if server is None:
            return None
        if new is None:
            return replacement.of_server(volume_id, server)
        return replacement.of_server(volume_id, server, new.created_at, new.id)

    return look


def _check_owner(context: protocols.Context, asked: dict[str, Any]) -> None:
    """Check that only Nova replaces an attachment with a cache mode.

    See :mod:`cinder_rbd_ext.attach.replacement`.

    :raises HTTPBadRequest: if another caller does
    """
    volume_id = str(asked.get('volume_uuid'))
    server = str(asked.get('instance_uuid'))
    if not all(map(uuidutils.is_uuid_like, (volume_id, server))):
        # Cinder's schema refuses it, or it is not for a server.
        return
    if _is_service(context):
        return
    # Times in the database can be whole seconds.
    since = timeutils.utcnow(with_timezone=True) - datetime.timedelta(
        seconds=1
    )
    earlier = replacement.of_server(volume_id, server, since)
    if earlier is None or earlier.mode is None:
        return
    volume = objects.Volume.get_by_id(context, volume_id)
    if _may(context, attachment_policies.CREATE_POLICY, volume):
        raise webob.exc.HTTPBadRequest(
            explanation=f'Server {server} has volume {volume.id} with a cache '
            'mode. Only Nova can create another attachment for it.'
        )


def _is_certain(connector: dict[str, Any], for_server: bool) -> bool:
    """Return whether a connector is that of a compute host."""
    return for_server or cache_mode.of_connector(connector) is not None


def _is_service(context: protocols.Context) -> bool:
    """Return whether the caller is a service, such as Nova."""
    return cinder_volume.API().is_service_request(context) or policies.allows(
        context, policies.OFFER_CACHE_MODES
    )


def _may(context: protocols.Context, action: str, target: object) -> bool:
    return bool(context.authorize(action, target_obj=target, fatal=False))


Answer = dict[str, Any]


class NextAttachmentController(wsgi.Controller):
    """Shows what an attachment requires of a compute host."""

    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._reported = reported

    def index(self, req: protocols.Request, volume_id: str) -> Answer:
        """Return the cache modes of which the host must offer one.

        Only the driver knows a ``conf_rbd_cache`` of the RBD image, which can
        refuse the attachment on each host.
        """
        context = req.environ['cinder.context']
        volume = objects.Volume.get_by_id(context, volume_id)
        policies.check(context, policies.GET, volume)
        requirement = self._required(
            volume, req.GET.get(wire.NEXT_ATTACHMENT_SERVER)
        )
        modes = requirement.modes
        return {
            wire.NEXT_ATTACHMENT: {
                wire.REQUIRED_CACHE_MODES: (
                    None if modes is None else [mode.value for mode in modes]
                ),
                wire.NEXT_ATTACHMENT_REASON: (
                    str(requirement.error) if requirement.error else None
                ),
            }
        }

    def _required(
        self, volume: protocols.Volume, server: str | None
    ) -> cache_mode.Requirement:
        here = self._reported.holding(volume)
        if here is None or here.settings is None:
            return cache_mode.Requirement()
        earlier = earlier_of(volume.id, server)
        return cache_mode.required(
            volume, here.settings, functools.cache(earlier)
        )
