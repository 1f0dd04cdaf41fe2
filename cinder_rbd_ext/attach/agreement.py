# SPDX-License-Identifier: Apache-2.0
"""The decision about the cache mode of an attachment, for API and driver.

The API decides first, so that a refusal is the response to the request. The
driver decides again, because it also knows what only the back end knows.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import protocols
from cinder_rbd_ext.attach import attachment_mode
from cinder_rbd_ext.attach import host_modes
from cinder_rbd_ext.attach import replacement
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import wire


@dataclasses.dataclass(frozen=True)
class Agreement:
    """The decision about the cache mode of an attachment.

    :ivar asked: the mode of the attachment; None to leave it to the host
    :ivar error: why the attachment does not get the requested mode; None if it
        does, or if no mode is requested
    :ivar refused: whether the attachment is refused because of ``error``
    :ivar strict: whether any other obstacle to the mode refuses the attachment
    :ivar kept: whether ``asked`` is the mode that the server had on the host
    """

    asked: attachment_mode.Asked | None = None
    error: errors.OptionError | None = None
    refused: bool = False
    strict: bool = False
    kept: bool = False


def agree(
    volume: protocols.Volume,
    connector: Mapping[str, Any],
    settings: backend_settings.BackendSettings,
    certain: bool,
    earlier: Callable[[], replacement.Earlier | None],
) -> Agreement:
    """Compare the requested mode of a volume with the modes of a host.

    :param certain: whether the connection is known to be for a server; no
        other connection is refused because of a mode
    :param earlier: finds the attachment that this one replaces. If the
        requested mode is not available, the mode of that attachment is kept.
        On the same host, it is kept in any case. On another host, which must
        offer it, it is kept if the back end does not allow the requested mode
        any more.
    """
    strict = certain and settings.strict_cache_mode
    error = None
    try:
        asked = attachment_mode.asked(volume, settings)
    except errors.OptionError as not_allowed:
        replaced = earlier()
        if replaced is None:
            return Agreement(error=not_allowed, refused=certain)
        asked, error = attachment_mode.kept(replaced.mode), not_allowed
    if asked is None:
        return Agreement(error=error, strict=strict)
    try:
        host_modes.check(asked, host_modes.of_connector(connector))
    except errors.OptionError as not_offered:
        refusal = Agreement(error=not_offered, refused=strict, strict=strict)
        return (
            _kept_on_host(refusal, connector, earlier) if certain else refusal
        )
    return Agreement(asked, error, strict=strict)


@dataclasses.dataclass(frozen=True)
class Requirement:
    """What an attachment requires of a compute host.

    :ivar modes: the modes of which the host must offer one, empty if each
        host is refused; None if no host is refused
    :ivar error: why a host without the plug-in is refused; None if it is not
    """

    modes: tuple[cache_modes.CacheMode, ...] | None = None
    error: errors.OptionError | None = None


def required(
    volume: protocols.Volume,
    settings: backend_settings.BackendSettings,
    earlier: Callable[[], replacement.Earlier | None],
) -> Requirement:
    """Return what the next attachment of a server requires of a host.

    The attachment is one on another host than that of ``earlier``, on which
    it would not be refused.

    :param earlier: as in :func:`agree`
    """
    agreed = agree(volume, {}, settings, True, earlier)
    if not agreed.refused:
        return Requirement()
    modes = tuple(
        mode
        for mode in cache_modes.CacheMode
        if not agree(
            volume,
            {wire.CONNECTOR_CACHE_MODES: [mode.value]},
            settings,
            True,
            earlier,
        ).refused
    )
    return Requirement(modes, agreed.error)


def overridden(
    agreed: Agreement,
    error: errors.OptionError,
    connector: Mapping[str, Any],
    earlier: Callable[[], replacement.Earlier | None],
) -> Agreement:
    """Return an agreement on a mode that the RBD image overrides.

    :param error: the setting of the image
    :param earlier: as in :func:`agree`
    """
    # Shared volumes are not refused: their mode is not a request.
    shared = agreed.asked is not None and agreed.asked.shared
    refused = agreed.strict and not shared
    obstructed = dataclasses.replace(agreed, error=error, refused=refused)
    if not refused:
        return obstructed
    return _kept_on_host(obstructed, connector, earlier)


def _kept_on_host(
    agreed: Agreement,
    connector: Mapping[str, Any],
    earlier: Callable[[], replacement.Earlier | None],
) -> Agreement:
    """Return an agreement that keeps the mode of the server on its host.

    :param agreed: an agreement with an obstacle to the requested mode
    """
    replaced = earlier()
    if replaced is None or not replaced.is_on(connector):
        return agreed
    asked = attachment_mode.kept(replaced.mode)
    return Agreement(asked, agreed.error, kept=True)
