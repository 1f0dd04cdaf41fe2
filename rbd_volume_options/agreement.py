# SPDX-License-Identifier: Apache-2.0

"""What an attachment requests of a compute host, and what the host can do.

A host with the Nova plug-in describes itself in its connector. A host without
it would silently ignore a mode. Cinder refuses the first attachment of a
volume to a server if the host cannot do what the volume requests: the API
first, so that a refusal is the response to the request, and then the driver,
which knows more.

A *move* of an attachment is never refused: the server has the volume already,
and Nova has often stopped the guest by then. The connection always has what is
requested. The host does what it can, and gives the rest when the server starts
on a host that can.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from rbd_volume_options import backend_settings
from rbd_volume_options import compute_hosts
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import registry
from rbd_volume_options import request
from rbd_volume_options.families import cache_modes

#: What an operator can do about a host that cannot do what is requested.
ADVICE = (
    'Activate the Nova plug-in on the host, add the mode to [rbd_cache] '
    'allowed_modes of its nova.conf, or require the trait of the mode in the '
    'flavor'
)

#: Logs a warning with its values.
Warn = Callable[[str, Mapping[str, object]], None]

Host = compute_hosts.ComputeHost | None

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
    def requires_host(self) -> bool:
        """Whether the volume or its type requests what a host can lack."""
        names = {keys.CACHE_MODE, *compute_hosts.keys_with_requirements()}
        return not names.isdisjoint([*self.metadata, *self.specs])


@dataclasses.dataclass(frozen=True)
class Move:
    """The move of an attachment that a server has, or had.

    :ivar connection: the items of its last connection; empty if unknown
    """

    connection: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def mode(self) -> cache_modes.CacheMode | None:
        """The mode that was requested for it, if any."""
        return mode_of(self.connection)

    @property
    def sectors(self) -> dict[str, Any]:
        """The sector sizes of its disk."""
        return {
            item: self.connection[item]
            for item in (
                'logical_block_size',
                'physical_block_size',
            )
            if item in self.connection
        }


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


def _choices(
    volume: Attaching, settings: backend_settings.BackendSettings
) -> dict[str, options.Choice]:
    """Return the values of the options other than the mode, by key."""
    choices: dict[str, options.Choice] = {}
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
            choices[option.key] = choice
    return choices


def _choice(
    volume: Attaching,
    key: str,
    settings: backend_settings.BackendSettings,
    items: Mapping[str, str],
) -> options.Choice | None:
    """Return the value of an option of attachments, if it is requested.

    :param items: the metadata of the volume; empty to ignore it
    """
    own = {key: items[key]} if key in items else {}
    specs = {
        name: volume.specs[name]
        for name in (key, keys.TENANT_OPTIONS)
        if name in volume.specs
    }
    if own and not volume.is_accepted(key, items[key]):
        volume.warn(
            'Volume %(id)s: %(key)s = %(value)s was not set through the API '
            'extension. Load the extension in every cinder-api service.',
            {'id': volume.ident, 'key': key, 'value': errors.shown(own[key])},
        )
        request.check_tenant(own, specs, settings)
    requested = request.read_request(own, specs, settings, is_checked=True)
    return requested.resolve().choice(key)


def mode_of(
    connection_info: Mapping[str, Any],
) -> cache_modes.CacheMode | None:
    """Return the requested mode of a connection; None for an unknown one."""
    return _KNOWN.get(str(connection_info.get(cache_modes.ITEM)))


def host_of(connector: Mapping[str, Any]) -> str:
    """Return a host's name in a form that is safe in messages."""
    return errors.shown(connector.get('host', ''))


def check_offered(requested: RequestedMode, host: Host) -> None:
    """Check that a host offers the requested mode.

    The error does not name the host, because tenants read it. It is short,
    because Nova truncates the fault of a server after 255 characters.
    """
    if requested.shared or (host and requested.mode in host.modes):
        # Nova itself uses this mode for all shared disks.
        return
    if host is None:
        reason = 'the compute host offers no cache modes'
        allowed = 'no cache mode'
    else:
        reason = 'the compute host does not offer it'
        allowed = cache_modes.joined(host.modes)
    raise requested.refusal(reason, allowed)


def check_applied(key: str, choice: options.Choice, host: Host) -> None:
    """Check that a host can apply the value of another option.

    :raises OptionError: if not, with the versions of the host
    """
    option = registry.OPTIONS[key]
    if not option.requires or choice.value == option.without_plug_in:
        return
    if host and key in host.keys:
        return
    software = (host.software if host else '') or phrases.Phrase(
        'no active plug-in'
    )
    raise errors.OptionError(
        key,
        str(choice.value),
        phrases.Phrase(
            'requires {required}; the compute host has {software}',
            required=option.requires,
            software=software,
        ),
        str(option.without_plug_in or 'no value'),
        choice.origin,
    )


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
    """What an attachment requests, and why a host does not give it.

    :ivar requested: the mode; None to leave it to the host
    :ivar values: the values of the other options, by key
    :ivar not_allowed: why the requested mode is not allowed, if it is not
    :ivar obstacles: what the host cannot do
    :ivar strict: whether an obstacle refuses the first attachment
    """

    requested: RequestedMode | None
    values: dict[str, Any]
    not_allowed: errors.OptionError | None
    obstacles: tuple[errors.OptionError, ...]
    strict: bool

    @property
    def refusal(self) -> errors.OptionError | None:
        """Why the first attachment of the volume to a server is refused."""
        if self.not_allowed or not self.strict:
            return self.not_allowed
        return next(iter(self.obstacles), None)


def agree(
    volume: Attaching,
    host: Host,
    settings: backend_settings.BackendSettings,
) -> Agreement:
    """Compare what a volume requests with what a host can do."""
    requested, not_allowed = None, None
    obstacles: list[errors.OptionError] = []
    try:
        requested = requested_mode(volume, settings)
    except errors.OptionError as error:
        not_allowed = error
    choices = _choices(volume, settings)
    checks: list[Callable[[], None]] = [
        functools.partial(check_applied, key, choice, host)
        for key, choice in choices.items()
    ]
    if requested:
        checks.insert(0, functools.partial(check_offered, requested, host))
    for check in checks:
        try:
            check()
        except errors.OptionError as error:
            obstacles.append(error)
    return Agreement(
        requested,
        {key: choice.value for key, choice in choices.items()},
        not_allowed,
        tuple(obstacles),
        settings.strict_cache_mode,
    )
