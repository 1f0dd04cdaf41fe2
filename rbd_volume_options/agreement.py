# SPDX-License-Identifier: Apache-2.0

"""The cache mode of an attachment: requested, offered, agreed or refused.

A compute host with the Nova plug-in lists the available cache modes in its
connector. A host without it would silently ignore a mode. The API decides
first, so that a refusal is the response to the request. The driver knows more
and decides again.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import backend_settings
from rbd_volume_options import cache_modes
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import precedence
from rbd_volume_options import registry
from rbd_volume_options import request
from rbd_volume_options import wire

#: What an operator can do about a host that does not offer a mode.
ADVICE = (
    'Activate the Nova plug-in on the host, add the mode to [rbd_cache] '
    'allowed_modes of its nova.conf, or enable RBDCacheModeFilter in '
    'nova-scheduler'
)

HostModes = frozenset[cache_modes.CacheMode]

#: Logs a warning with its values.
Warn = Callable[[str, Mapping[str, object]], None]

_KNOWN = {mode.value: mode for mode in cache_modes.CacheMode}

_SHARED_MODE = registry.OPTIONS[keys.CACHE_MODE].shared_value


@dataclasses.dataclass(frozen=True)
class RequestedMode:
    """The cache mode with which a volume is to be attached.

    :ivar origin: where the mode was set; None if it is not a request
    :ivar shared: whether it is the mode of all shared disks
    """

    mode: cache_modes.CacheMode
    origin: errors.Origin | None
    shared: bool = False

    def refusal(self, reason: str, allowed: str) -> errors.OptionError:
        """Return why an attachment cannot have the mode."""
        return errors.OptionError(
            keys.CACHE_MODE, self.mode.value, reason, allowed, self.origin
        )


@dataclasses.dataclass(frozen=True)
class Attaching:
    """A volume that is to be attached.

    :ivar specs: the extra specs of its type
    :ivar is_accepted: returns whether the API extension or the driver has
        accepted the value of a changeable key
    :ivar warn: logs a warning
    """

    ident: str
    metadata: Mapping[str, str]
    specs: Mapping[str, str]
    multiattach: bool
    is_accepted: Callable[[str, str], bool]
    warn: Warn

    @property
    def requests_mode(self) -> bool:
        """Whether the volume or its type requests a mode."""
        return keys.CACHE_MODE in {**self.metadata, **self.specs}


@dataclasses.dataclass(frozen=True)
class Earlier:
    """The attachment that a new one replaces.

    :ivar mode: its cache mode; None if the compute host chose it
    :ivar host: the compute host that it connected, None if unknown
    :ivar former: the attachment that it replaced, if both are deleted
    """

    mode: cache_modes.CacheMode | None
    host: str | None = None
    former: 'Earlier | None' = None

    def on_host(self, connector: Mapping[str, Any]) -> 'Earlier | None':
        """Return the last attachment to the host of a connector, if any."""
        if self.host and self.host == connector.get('host'):
            return self
        return self.former.on_host(connector) if self.former else None


def requested_mode(
    volume: Attaching, settings: backend_settings.BackendSettings
) -> RequestedMode | None:
    """Return the requested mode of a volume; None to leave it to the host.

    A multi-attach volume always has cache mode ``none``. Whether tenants may
    set the key is checked here only for a mode that neither the API extension
    nor the driver has accepted: a key that was removed from the list later
    must not prevent an attachment.

    :raises OptionError: for an unknown mode, or one that is not allowed
    """
    if volume.multiattach:
        return RequestedMode(_SHARED_MODE, None, shared=True)
    choice = _choice(volume, keys.CACHE_MODE, settings, volume.metadata)
    return RequestedMode(choice.value, choice.origin) if choice else None


def other_values(
    volume: Attaching, settings: backend_settings.BackendSettings
) -> dict[str, Any]:
    """Return the values of the options that no host must offer, by key."""
    values: dict[str, Any] = {}
    for option in registry.of_kind(definitions.Kind.CONNECTION):
        if option.offered:
            continue
        choice = None
        for metadata in volume.metadata, {}:
            try:
                choice = _choice(volume, option.key, settings, metadata)
            except errors.OptionError as error:
                volume.warn(
                    'Volume %(id)s is attached without a requested option: '
                    '%(error)s',
                    {'id': volume.ident, 'error': error},
                )
            else:
                break
        if choice:
            values[option.key] = choice.value
    return values


def _choice(
    volume: Attaching,
    key: str,
    settings: backend_settings.BackendSettings,
    items: Mapping[str, str],
) -> precedence.Choice[Any] | None:
    """Return the value of an option of attachments, if it is requested.

    :param items: the metadata of the volume; empty to ignore it
    """
    others = set(registry.OPTIONS) - {key, keys.TENANT_OPTIONS}

    def chosen(items: Mapping[str, str]) -> dict[str, str]:
        relevant = options.for_attachment(items)
        return {k: v for k, v in relevant.items() if k not in others}

    metadata = chosen(items)
    texts = request.Texts(metadata, chosen(volume.specs))
    value = metadata.get(key)
    if value is not None and not volume.is_accepted(key, value):
        volume.warn(
            'Volume %(id)s: %(key)s = %(value)s was not set through the API '
            'extension. Load the extension in every cinder-api service.',
            {'id': volume.ident, 'key': key, 'value': errors.shown(value)},
        )
        texts.check_tenant(settings)
    return texts.request(settings).resolve().plain.get(key)


def of_connector(connector: Mapping[str, Any], warn: Warn) -> HostModes | None:
    """Return the modes that a connector lists; None if it has no list.

    Unknown modes, which a newer plug-in may have, are ignored.
    """
    if wire.CONNECTOR_CACHE_MODES not in connector:
        return None
    listed = connector[wire.CONNECTOR_CACHE_MODES]
    if isinstance(listed, str):
        listed = listed.split(',')
    if not isinstance(listed, list | tuple):
        warn(
            'Connector of host %(host)s: %(key)s = %(value)s is not a list',
            {
                'host': host_of(connector),
                'key': wire.CONNECTOR_CACHE_MODES,
                'value': errors.shown(listed),
            },
        )
        return frozenset()
    words = {word.strip() for word in listed if isinstance(word, str)}
    return frozenset(_KNOWN[word] for word in words & _KNOWN.keys())


def mode_of(
    connection_info: Mapping[str, Any],
) -> cache_modes.CacheMode | None:
    """Return the mode of a connection; None for none, or an unknown one."""
    return _KNOWN.get(str(connection_info.get(wire.CONNECTION_CACHE_MODE)))


def host_of(connector: Mapping[str, Any]) -> str:
    """Return a host's name in a form that is safe in messages."""
    return errors.shown(connector.get('host', ''))


def check_offered(requested: RequestedMode, offer: HostModes | None) -> None:
    """Check that a host offers the requested mode.

    The error does not name the host, because tenants read it. It is short,
    because Nova truncates the fault of a server after 255 characters.
    """
    if requested.shared or requested.mode in (offer or ()):
        # Nova itself uses this mode for all shared disks.
        return
    if offer is None:
        reason = 'the compute host offers no cache modes'
        allowed = 'no cache mode'
    else:
        reason = 'the compute host does not offer it'
        allowed = cache_modes.joined(offer)
    raise requested.refusal(reason, allowed)


def check_cache(requested: RequestedMode, cached: bool | None) -> None:
    """Check that no ``conf_rbd_cache`` overrides the mode.

    :param cached: the value on the image or its pool; None if unset
    :raises OptionError: if it does
    """
    if cached is None or cached is requested.mode.uses_rbd_cache:
        return
    agreeing = [m for m in cache_modes.CacheMode if m.uses_rbd_cache is cached]
    raise requested.refusal(
        f'conf_rbd_cache = {str(cached).lower()}, set on the RBD image or its '
        f'pool, overrides it',
        f'{cache_modes.joined(agreeing)}, or remove the setting',
    )


@dataclasses.dataclass(frozen=True)
class Agreement:
    """The decision about the cache mode of an attachment.

    :ivar requested: the mode of the attachment; None to leave it to the host
    :ivar error: why it does not get the requested mode, if it does not
    :ivar refused: whether the attachment is refused because of ``error``
    :ivar strict: whether any other obstacle to the mode refuses it
    :ivar kept: whether ``requested`` is the mode that the server had on the
        host
    """

    requested: RequestedMode | None = None
    error: errors.OptionError | None = None
    refused: bool = False
    strict: bool = False
    kept: bool = False


def agree(
    volume: Attaching,
    connector: Mapping[str, Any],
    settings: backend_settings.BackendSettings,
    certain: bool,
    earlier: Callable[[], Earlier | None],
) -> Agreement:
    """Compare the requested mode of a volume with the modes of a host.

    :param certain: whether the connection is known to be for a server; no
        other connection is refused because of a mode
    :param earlier: finds the attachment that this one replaces. On the same
        host, its mode is kept if the requested one is not available. On
        another host, which must offer it, it is kept if the back end does not
        allow the requested mode any more.
    """
    strict = certain and settings.strict_cache_mode
    error = None
    try:
        requested = requested_mode(volume, settings)
    except errors.OptionError as not_allowed:
        replaced = earlier()
        if replaced is None:
            return Agreement(error=not_allowed, refused=certain)
        requested = (
            RequestedMode(replaced.mode, None) if replaced.mode else None
        )
        error = not_allowed
    if requested is None:
        return Agreement(error=error, strict=strict)
    try:
        check_offered(requested, of_connector(connector, volume.warn))
    except errors.OptionError as not_offered:
        refusal = Agreement(error=not_offered, refused=strict, strict=strict)
        return (
            _kept_on_host(refusal, connector, earlier) if certain else refusal
        )
    return Agreement(requested, error, strict=strict)


def required(
    volume: Attaching,
    settings: backend_settings.BackendSettings,
    earlier: Callable[[], Earlier | None],
) -> tuple[list[cache_modes.CacheMode] | None, errors.OptionError | None]:
    """Return what the next attachment of a server requires of another host.

    :returns: the modes of which the host must offer one, None for any host;
        and why a host without the plug-in is refused, if it is
    """
    agreed = agree(volume, {}, settings, True, earlier)
    if not agreed.refused:
        return None, None
    modes = [
        mode
        for mode in cache_modes.CacheMode
        if not agree(
            volume,
            {wire.CONNECTOR_CACHE_MODES: [mode.value]},
            settings,
            True,
            earlier,
        ).refused
    ]
    return modes, agreed.error


def overridden(
    agreed: Agreement,
    error: errors.OptionError,
    connector: Mapping[str, Any],
    earlier: Callable[[], Earlier | None],
) -> Agreement:
    """Return an agreement on a mode that a setting of the image overrides."""
    # Shared volumes are not refused: their mode is not a request.
    shared = agreed.requested is not None and agreed.requested.shared
    refused = agreed.strict and not shared
    obstructed = dataclasses.replace(agreed, error=error, refused=refused)
    if not refused:
        return obstructed
    return _kept_on_host(obstructed, connector, earlier)


def _kept_on_host(
    agreed: Agreement,
    connector: Mapping[str, Any],
    earlier: Callable[[], Earlier | None],
) -> Agreement:
    replaced = earlier()
    on_host = replaced.on_host(connector) if replaced else None
    if on_host is None:
        return agreed
    requested = RequestedMode(on_host.mode, None) if on_host.mode else None
    return Agreement(requested, agreed.error, kept=True)
