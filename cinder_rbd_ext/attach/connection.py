# SPDX-License-Identifier: Apache-2.0

"""The cache mode and the disk of a connection, by the driver."""

from collections.abc import Iterator
import sys
from typing import Any
from typing import NamedTuple

from cinder import exception
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import protocols
from cinder_rbd_ext import reasons
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.attach import cache_mode
from cinder_rbd_ext.attach import moves
from cinder_rbd_ext.attach import requester
from cinder_rbd_ext.cluster import blocklisting
from rbd_volume_options import agreement
from rbd_volume_options import compute_hosts
from rbd_volume_options import errors
from rbd_volume_options import image_configuration
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options.families import cache_modes
from rbd_volume_options.families import sector_size

LOG = logging.getLogger(__name__)


def items(
    driver: protocols.Driver,
    volume: protocols.Volume,
    connector: protocols.Connector,
    current: protocols.Volume | None,
) -> dict[str, Any]:
    """Return the items of a connection about the cache mode and the disk.

    They are what is requested. The host of a server decides what it gives.

    :param current: the volume, from
        :func:`cinder_rbd_ext.lifecycle.restore.connected`
    :raises AttachmentRefused: if the first attachment to a server requests
        what is not allowed, or what the host cannot do; or if the sector size
        is unknown, as a server could not read the data with another one
    """
    if current is None:
        return {}
    consumer = requester.of_connection(current, connector)
    host = compute_hosts.host_in_connector(connector)
    agreed = cache_mode.agree(current, connector, driver.settings)
    result: dict[str, Any] = {}
    move = None
    if consumer is not requester.Consumer.OTHER:
        move = moves.of_waiting(current)
        is_server = consumer is requester.Consumer.SERVER
        for problem in _problems(driver, current, agreed, host):
            if problem.refuses and is_server and move is None:
                _log(problem, current, connector, is_refused=True)
                raise _refusal(current, problem.error) from problem.error
            _log(problem, current, connector, is_refused=False)
            if is_server:
                user_messages.refused(
                    current,
                    user_messages.Operation.OPTION,
                    f'{problem.error.for_tenants()}. {problem.effect}',
                )
        if reasons.stored(current.admin_metadata, reasons.ATTACHMENT):
            record.forget_reason(volume.id, reasons.ATTACHMENT)
        mode = agreed.mode
        if agreed.not_allowed:
            mode = agreement.mode_of(move or {})
        if mode is not None:
            result[cache_modes.ITEM] = mode.value
    recorded = image_record.read(current)
    image_layout = recorded.state.layout if recorded else None
    values = {
        key: choice.value
        for key, choice in agreed.choices.items()
        if not registry.OPTIONS[key].offered
    }
    for key, value in (values | _disk(current, move)).items():
        option = registry.OPTIONS[key]
        for_layout = option.for_layout(value, image_layout)
        if for_layout is None:
            LOG.warning(
                'Volume %(id)s is connected without %(key)s: the layout of '
                'its image is not recorded',
                {'id': current.id, 'key': key},
            )
        elif not option.requires or (consumer is not requester.Consumer.OTHER):
            result.update(option.connection_items(for_layout))
    return result | {
        item: move[item]
        for item in sector_size.connection_items(sector_size.LARGE)
        if move and item in move
    }


def _disk(
    volume: protocols.Volume, move: agreement.Move | None
) -> dict[str, Any]:
    """Return the recorded properties of the disk; those of a move stay."""
    if move:
        return {}
    try:
        return image_record.disk_in(volume.admin_metadata)
    except errors.OptionError as error:
        LOG.error(
            'Volume %(id)s is not attached: its admin metadata is '
            'invalid: %(error)s. Correct or remove the item.',
            {'id': volume.id, 'error': error},
        )
        raise _refusal(volume, error) from error


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


class _Problem(NamedTuple):
    """What a server does not get as it is requested.

    :ivar refuses: whether it refuses a first attachment
    :ivar effect: what happens otherwise
    """

    error: errors.OptionError
    refuses: bool
    effect: str


def _problems(
    driver: protocols.Driver,
    volume: protocols.Volume,
    agreed: agreement.Agreement,
    host: agreement.Host,
) -> Iterator[_Problem]:
    if agreed.not_allowed:
        effect = 'It keeps the mode that it had.'
        yield _Problem(agreed.not_allowed, True, effect)
        return
    for obstacle in agreed.obstacles:
        effect = f'The mode is {cache_modes.CacheMode.NONE.value}.'
        if obstacle.key != keys.CACHE_MODE:
            effect = 'The server gets the volume without it.'
        elif host is None:
            effect = 'The compute host decides on the mode.'
        yield _Problem(obstacle, agreed.strict, effect)
    if agreed.mode:
        override = _cache_override(driver, volume)
        try:
            agreement.check_cache(agreed.choices[keys.CACHE_MODE], override)
        except errors.OptionError as error:
            # Shared volumes are not refused: their mode is not a request.
            refuses = agreed.strict and not agreed.shared
            yield _Problem(error, refuses, 'The setting decides.')


def _log(
    problem: _Problem,
    volume: protocols.Volume,
    connector: protocols.Connector,
    is_refused: bool,
) -> None:
    """Tell the operator; only this text names the host."""
    values = {
        'id': volume.id,
        'host': agreement.host_of(connector),
        'error': problem.error,
    }
    if is_refused:
        LOG.error(
            'Volume %(id)s is not attached to host %(host)s: %(error)s. '
            '%(advice)s.',
            {**values, 'advice': agreement.ADVICE},
        )
    else:
        LOG.warning(
            'Volume %(id)s is attached to host %(host)s without a requested '
            'option: %(error)s. %(effect)s',
            {**values, 'effect': problem.effect},
        )


def _refusal(
    volume: protocols.Volume, error: errors.OptionError
) -> exceptions.AttachmentRefused:
    user_messages.refused(volume, user_messages.Operation.ATTACHMENT, error)
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
