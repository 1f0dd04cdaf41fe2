# SPDX-License-Identifier: Apache-2.0

"""The cache mode and the disk of a connection, by the driver."""

import functools
import sys
from typing import Any

from cinder import exception
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.attach import cache_mode
from cinder_rbd_ext.attach import replacement
from cinder_rbd_ext.attach import requester
from cinder_rbd_ext.cluster import blocklisting
from rbd_volume_options import agreement
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import image_configuration
from rbd_volume_options import image_record
from rbd_volume_options import registry
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)


def items(
    driver: protocols.Driver,
    volume: protocols.Volume,
    connector: protocols.Connector,
    current: protocols.Volume | None,
) -> dict[str, Any]:
    """Return the items of a connection about the cache mode and the disk.

    Items that only the Nova plug-in applies are for hosts with the plug-in.

    :param current: the volume, from
        :func:`cinder_rbd_ext.attach.requester.current_for`
    :raises AttachmentRefused: if the mode is not allowed or not offered, or if
        the record is invalid: a server could not read the data with another
        sector size
    """
    if current is None:
        return {}
    consumer = requester.of_connection(current, connector)
    mode = None
    if consumer is not requester.Consumer.OTHER:
        is_server = consumer is requester.Consumer.SERVER
        mode = _agreed(driver, volume, connector, current, is_server)
    try:
        disk = image_record.disk_in(current.admin_metadata)
    except errors.OptionError as error:
        LOG.error(
            'Volume %(id)s is not attached: its admin metadata is '
            'invalid: %(error)s. Correct or remove the item.',
            {'id': current.id, 'error': error},
        )
        raise _refusal(current, error) from error
    values = (
        agreement.other_values(cache_mode.attaching(current), driver.settings)
        | disk
    )
    has_plug_in = agreement.of_connector(connector, LOG.warning) is not None
    result: dict[str, Any] = {}
    if mode is not None:
        result[wire.CONNECTION_CACHE_MODE] = mode.value
    recorded = image_record.read(current)
    image_layout = recorded.state.layout if recorded else None
    for key, value in values.items():
        option = registry.OPTIONS[key]
        for_layout = option.for_layout(value, image_layout)
        if for_layout is None:
            LOG.warning(
                'Volume %(id)s is connected without %(key)s: the layout of '
                'its image is not recorded',
                {'id': current.id, 'key': key},
            )
        elif has_plug_in or not option.needs_plug_in:
            result.update(option.connection_items(for_layout))
        elif consumer is requester.Consumer.SERVER:
            LOG.warning(
                'Volume %(id)s is connected to host %(host)s without %(key)s: '
                'the host has no active rbd_cache plug-in for Nova',
                {
                    'id': current.id,
                    'host': agreement.host_of(connector),
                    'key': key,
                },
            )
    return result


def pass_on_refusal() -> None:
    """Raise the refusal that is being handled as HTTP 400.

    Cinder's manager turns each exception of ``initialize_connection`` into
    HTTP 500, and Nova repeats the request four times. Its ``except`` clause
    first calls ``remove_export``, whose exceptions are not wrapped.

    :raises InvalidVolume: the only class that is HTTP 400 for attachments. RPC
        serializes only Cinder's own ones.
    """
    handled = sys.exc_info()[1]
    if isinstance(handled, exceptions.AttachmentRefused):
        reason = handled.kwargs['reason']
        raise exception.InvalidVolume(reason=reason) from handled


def _agreed(
    driver: protocols.Driver,
    volume: protocols.Volume,
    connector: protocols.Connector,
    current: protocols.Volume,
    is_server: bool,
) -> cache_modes.CacheMode | None:
    """Return the mode of a new attachment; None to leave it to the host."""
    judge = functools.partial(_judge, current, agreement.host_of(connector))
    earlier = functools.partial(replacement.of_waiting, current)
    agreed = agreement.agree(
        cache_mode.attaching(current),
        connector,
        driver.settings,
        is_server,
        earlier,
    )
    if agreed.error:
        judge(agreed.error, agreed)
    if agreed.requested:
        try:
            agreement.check_cache(
                agreed.requested, _cache_override(driver, volume)
            )
        except errors.OptionError as error:
            agreed = agreement.overridden(agreed, error, connector, earlier)
            judge(error, agreed)
    if image_record.refused_attachment(current.admin_metadata):
        user_messages.forget_refused_attachment(volume.id)
    if not agreed.requested or _is_pending(
        current, connector, agreed.requested
    ):
        return None
    return agreed.requested.mode


def _is_pending(
    volume: protocols.Volume,
    connector: protocols.Connector,
    requested: agreement.RequestedMode,
) -> bool:
    """Return whether the guest cannot have the mode before it restarts.

    The attachment then has no mode, as the guest.
    """
    if requested.shared or not replacement.runs_without_plug_in(
        volume, connector
    ):
        return False
    LOG.warning(
        'Volume %(id)s is attached to host %(host)s without its cache '
        'mode: its server is live-migrated from a host without an active '
        'rbd_cache plug-in. The next attachment gets the mode.',
        {'id': volume.id, 'host': agreement.host_of(connector)},
    )
    return True


def _judge(
    volume: protocols.Volume,
    host: str,
    error: errors.OptionError,
    agreed: agreement.Agreement,
) -> None:
    """Refuse an attachment, or log why it does not get its mode.

    Only the log names the host, because tenants read the exception's text.
    """
    about = {'id': volume.id, 'host': host, 'error': error}
    if agreed.kept:
        LOG.warning(
            'Volume %(id)s is attached to host %(host)s with the cache '
            'mode that it has on this server already: %(error)s',
            about,
        )
    elif not agreed.refused:
        LOG.warning(
            'Volume %(id)s is attached to host %(host)s without the '
            'requested cache mode: %(error)s',
            about,
        )
    else:
        LOG.error(
            'Volume %(id)s is not attached to host %(host)s: %(error)s. '
            '%(advice)s.',
            {**about, 'advice': agreement.ADVICE},
        )
        raise _refusal(volume, error) from error


def _refusal(
    volume: protocols.Volume, error: errors.OptionError
) -> exceptions.AttachmentRefused:
    user_messages.tell_attachment_refused(volume, error)
    return exceptions.AttachmentRefused(reason=f'not attached: {error}')


def _cache_override(
    driver: protocols.Driver, volume: protocols.Volume
) -> bool | None:
    """Return the image's own ``rbd_cache``; None if unset or unreadable."""
    try:
        with rbd.RADOSClient(driver) as client:
            stored = releases.off_the_hub(image_configuration.stored_cache)
            override: bool | None = stored(
                driver.rados, client.ioctx, volume.name
            )
            return override
    except driver.rados.Error as error:
        if blocklisting.is_repeated(driver, error):
            raise
        LOG.debug('Opening image %s: %s', volume.name, error)
    try:
        with driver.images.opened(volume.name, read_only=True) as image:
            return image_configuration.cache_of_image(image)
    except (driver.rbd.Error, exception.VolumeBackendAPIException) as error:
        if blocklisting.is_repeated(driver, error):
            raise
        LOG.warning(
            'Could not read the cache setting of %(name)s: %(error)s',
            {'name': volume.name, 'error': error},
        )
        return None
