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
from typing import Any
from typing import Protocol

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

#: The items of the last connection of an attachment that a server has, or had;
#: empty if they are not known.
Move = Mapping[str, Any]

_KNOWN = {mode.value: mode for mode in cache_modes.CacheMode}


class Volume(request.Volume, Protocol):
    """A volume that is to be attached."""

    @property
    def id(self) -> str: ...
    @property
    def multiattach(self) -> bool: ...
    @property
    def volume_type(self) -> request.VolumeType | None: ...


@dataclasses.dataclass(frozen=True)
class Agreement:
    """What an attachment requests, and why a host does not give it.

    :ivar choices: what is requested, by key. A mode that nobody requests is
        left to the host.
    :ivar not_allowed: why the requested mode is not allowed, if it is not
    :ivar obstacles: what the host cannot do
    :ivar strict: whether an obstacle refuses the first attachment
    :ivar shared: whether the mode is that of all shared disks, which nobody
        has requested
    """

    choices: Mapping[str, options.Choice]
    not_allowed: errors.OptionError | None
    obstacles: tuple[errors.OptionError, ...]
    strict: bool
    shared: bool

    @property
    def mode(self) -> cache_modes.CacheMode | None:
        """The requested mode; None to leave it to the host."""
        choice = self.choices.get(keys.CACHE_MODE)
        return choice.value if choice else None

    @property
    def refusal(self) -> errors.OptionError | None:
        """Why the first attachment of the volume to a server is refused."""
        if self.not_allowed or not self.strict:
            return self.not_allowed
        return next(iter(self.obstacles), None)


def requires_host(volume: Volume) -> bool:
    """Return whether a volume or its type requests what a host can lack."""
    names = {keys.CACHE_MODE, *compute_hosts.keys_with_requirements()}
    specs = request.specs_of(volume.volume_type)
    return not names.isdisjoint([*request.metadata_of(volume), *specs])


def agree(
    volume: Volume,
    host: Host,
    settings: backend_settings.BackendSettings,
    is_accepted: Callable[[str, str], bool],
    warn: Warn,
) -> Agreement:
    """Compare what a volume requests with what a host can do.

    A multi-attach volume always has cache mode ``none``.

    :param is_accepted: returns whether the API extension or the driver has
        accepted the value of a changeable key
    :param warn: logs a warning
    """
    choices: dict[str, options.Choice] = {}
    not_allowed = None
    obstacles = []
    for option in registry.of_kind(definitions.Kind.CONNECTION):
        if volume.multiattach and option.shared_value is not None:
            origin = errors.Origin.VOLUME_TYPE
            choices[option.key] = options.Choice(option.shared_value, origin)
            continue
        choice = None
        for metadata in request.metadata_of(volume), {}:
            try:
                choice = _requested(
                    volume, option.key, settings, metadata, is_accepted, warn
                )
            except errors.OptionError as error:
                if option.offered:
                    not_allowed = error
                    break
                warn(
                    'Volume %(id)s is attached without a requested option: '
                    '%(error)s',
                    {'id': volume.id, 'error': error},
                )
            else:
                break
        if choice:
            choices[option.key] = choice
            obstacle = _obstacle(option, choice, host)
            obstacles += [obstacle] if obstacle else []
    return Agreement(
        choices,
        not_allowed,
        tuple(obstacles),
        settings.strict_cache_mode,
        bool(volume.multiattach),
    )


def _requested(
    volume: Volume,
    key: str,
    settings: backend_settings.BackendSettings,
    metadata: Mapping[str, str],
    is_accepted: Callable[[str, str], bool],
    warn: Warn,
) -> options.Choice | None:
    """Return the value of an option of attachments, if it is requested.

    Whether tenants may set the key is checked here only for a value that
    neither the API extension nor the driver has accepted: a key that was
    removed from the list later must not prevent an attachment.

    :param metadata: of the volume; empty to ignore it
    :raises OptionError: for a value that is unknown or not allowed
    """
    own = {key: metadata[key]} if key in metadata else {}
    specs = {
        name: value
        for name, value in request.specs_of(volume.volume_type).items()
        if name in (key, keys.TENANT_OPTIONS)
    }
    is_checked = not own or is_accepted(key, own[key])
    if not is_checked:
        warn(
            'Volume %(id)s: %(key)s = %(value)s was not set through the API '
            'extension. Load the extension in every cinder-api service.',
            {'id': volume.id, 'key': key, 'value': errors.shown(own[key])},
        )
    requested = request.read_request(own, specs, settings, is_checked)
    return requested.resolve().choice(key)


def _obstacle(
    option: definitions.Option, choice: options.Choice, host: Host
) -> errors.OptionError | None:
    """Return why a host cannot give a value; None if it can.

    The error does not name the host, because tenants read it. It is short,
    because Nova truncates the fault of a server after 255 characters.
    """
    if option.offered and host is None:
        reason = 'the compute host offers no cache modes'
        allowed = 'no cache mode'
    elif option.offered and host and choice.value not in host.modes:
        reason = 'the compute host does not offer it'
        allowed = cache_modes.joined(host.modes)
    elif (
        option.requires
        and choice.value != option.without_plug_in
        and not (host and option.key in host.keys)
    ):
        software = (host.software if host else '') or phrases.Phrase(
            'no active plug-in'
        )
        reason = phrases.Phrase(
            'requires {required}; the compute host has {software}',
            required=option.requires,
            software=software,
        )
        allowed = str(option.without_plug_in or 'no value')
    else:
        return None
    return errors.OptionError(
        option.key,
        definitions.as_text(choice.value),
        reason,
        allowed,
        choice.origin,
    )


def mode_of(
    connection_info: Mapping[str, Any],
) -> cache_modes.CacheMode | None:
    """Return the requested mode of a connection; None for an unknown one."""
    return _KNOWN.get(str(connection_info.get(cache_modes.ITEM)))


def host_of(connector: Mapping[str, Any]) -> str:
    """Return a host's name in a form that is safe in messages."""
    return errors.shown(connector.get('host', ''))


def check_cache(requested: options.Choice, cached: bool | None) -> None:
    """Check that no ``conf_rbd_cache`` overrides the requested mode.

    :param cached: the value on the image or its pool; None if unset
    :raises OptionError: if it does
    """
    if cached is None or cached is requested.value.uses_rbd_cache:
        return
    agreeing = [m for m in cache_modes.CacheMode if m.uses_rbd_cache is cached]
    raise errors.OptionError(
        keys.CACHE_MODE,
        requested.value.value,
        f'conf_rbd_cache = {str(cached).lower()}, set on the RBD image or its '
        f'pool, overrides it',
        f'{cache_modes.joined(agreeing)}, or remove the setting',
        requested.origin,
    )
