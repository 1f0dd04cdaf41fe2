# SPDX-License-Identifier: Apache-2.0

"""The requested options of a volume, from Cinder's objects."""

from collections.abc import Mapping
import dataclasses
from typing import Protocol

from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import plan
from rbd_volume_options import registry

_TRUE = '<is> True'


class Volume(Protocol):
    @property
    def metadata(self) -> Mapping[str, str] | None: ...


class VolumeType(Protocol):
    @property
    def extra_specs(self) -> Mapping[str, str] | None: ...


@dataclasses.dataclass(frozen=True)
class Request:
    """What a volume and its type request of a back end.

    :ivar levels: the values of the metadata and of the extra specs
    :ivar settings: of the back end, whose defaults come after them
    :ivar tenant_options: the keys that tenants may set on the volume
    """

    levels: tuple[options.Values, ...]
    settings: backend_settings.BackendSettings
    multiattach: bool = False
    replicated: bool = False
    tenant_options: frozenset[str] = frozenset()

    def resolve(
        self, *more: options.Values, backend_too: bool = True
    ) -> options.Values:
        """Return the values with the highest precedence.

        :param backend_too: False to ignore the defaults of the back end, as
            for a change of an existing volume
        :raises OptionError: if the values contradict the type
        """
        defaults = (self.settings.options,) if backend_too else ()
        resolved = dataclasses.replace(
            options.resolve((*self.levels, *defaults, *more)),
            multiattach=self.multiattach,
        )
        _check_shareable(resolved, self.multiattach, self.replicated)
        return resolved

    def plan(self, size: int) -> options.Values:
        """Return the plan of a new image that has no source.

        :param size: bytes
        :raises OptionError: for options that are not possible
        """
        stock = self.settings.stock_state()
        return plan.plan_image(
            self.resolve(), stock, size, self.settings.limits
        )


def read_request(
    metadata: Mapping[str, str],
    specs: Mapping[str, str],
    settings: backend_settings.BackendSettings,
    is_checked: bool = False,
) -> Request:
    """Return what the metadata and the extra specs of a volume request.

    :param is_checked: whether it is known that the tenant may set the keys
    :raises OptionError: for options that are invalid or not allowed
    """
    # Extra specs first: of two errors, the administrator's is reported.
    allowed = _tenant_options(specs, settings)
    if not is_checked:
        registry.check_tenant(metadata, allowed)
    levels = (
        options.parse(metadata, keys.Scope.VOLUME),
        options.parse(specs, keys.Scope.TYPE),
    )
    for level in levels:
        options.check_allowed(level, settings.limits)
    return Request(
        levels,
        settings,
        multiattach=is_multiattach(specs),
        replicated=_is_replicated(specs),
        tenant_options=allowed,
    )


def check_tenant(
    metadata: Mapping[str, str],
    specs: Mapping[str, str],
    settings: backend_settings.BackendSettings,
) -> None:
    """Check that the tenant may set the keys in the metadata of a volume.

    Unknown keys are left to :func:`read_request`, whose message is better.

    :raises OptionError: with the first key that the tenant may not set
    """
    registry.check_tenant(metadata, _tenant_options(specs, settings))


def _tenant_options(
    specs: Mapping[str, str], settings: backend_settings.BackendSettings
) -> frozenset[str]:
    chosen = tenant_options_in(specs)
    return settings.limits.tenant_options if chosen is None else chosen


def tenant_options_in(specs: Mapping[str, str]) -> frozenset[str] | None:
    """Return the keys that a type lets tenants set; None if it sets none.

    :raises OptionError: for invalid extra specs
    """
    return options.parse(specs, keys.Scope.TYPE).get(keys.TENANT_OPTIONS)


def is_multiattach(specs: Mapping[str, str]) -> bool:
    """Return whether extra specs belong to a multi-attach type."""
    return specs.get('multiattach') == _TRUE


def changes_features(specs: Mapping[str, str]) -> bool:
    """Return whether the stock driver changes the features for a type."""
    return is_multiattach(specs) or _is_replicated(specs)


def _is_replicated(specs: Mapping[str, str]) -> bool:
    return specs.get('replication_enabled') == _TRUE


def metadata_of(volume: Volume) -> dict[str, str]:
    """Return a volume's metadata; empty for an object without metadata."""
    return dict(volume.metadata or {})


def specs_of(volume_type: VolumeType | None) -> dict[str, str]:
    """Return a type's extra specs; empty for no type."""
    if volume_type is None:
        return {}
    return dict(volume_type.extra_specs or {})


def _check_shareable(
    resolved: options.Values, multiattach: bool, replicated: bool
) -> None:
    """Check requested values against a multi-attach or replicated type.

    :raises OptionError: if the type disables a requested feature or cache
        mode, or enables a feature that ``rbd:features`` does not have
    """
    wanted = resolved.choice(keys.FEATURES)
    if multiattach:
        _check_multiattach(resolved)
    if replicated and wanted and wanted.origin in errors.ASKED:
        needed = {features.EXCLUSIVE_LOCK, features.JOURNALING}
        for name in sorted(needed - wanted.value):
            raise errors.OptionError(
                keys.FEATURES,
                features.joined(wanted.value),
                phrases.Phrase(
                    'a replicated volume type requires {name}', name=name
                ),
                phrases.Phrase(
                    'features with {names}', names=' and '.join(sorted(needed))
                ),
                wanted.origin,
            )


def _check_multiattach(resolved: options.Values) -> None:
    object_map = resolved.choice(keys.OBJECT_MAP)
    wanted = resolved.choice(keys.FEATURES)
    if object_map and object_map.value and object_map.origin in errors.ASKED:
        raise errors.OptionError(
            keys.OBJECT_MAP,
            'true',
            phrases.Phrase(
                'volumes of a multi-attach type can have several writing '
                'clients'
            ),
            'false',
            object_map.origin,
        )
    if wanted and wanted.origin in errors.ASKED:
        for name in sorted(wanted.value & features.SINGLE_CLIENT):
            raise errors.OptionError(
                keys.FEATURES,
                features.joined(wanted.value),
                phrases.Phrase(
                    'volumes of a multi-attach type can have several writing '
                    'clients, and {name} supports only one',
                    name=name,
                ),
                phrases.Phrase(
                    'features without {names}',
                    names=', '.join(sorted(features.SINGLE_CLIENT)),
                ),
                wanted.origin,
            )
    for option in registry.OPTIONS.values():
        choice = resolved.choice(option.key)
        if (
            choice is not None
            and option.shared_reason is not None
            and choice.origin in errors.ASKED
            and choice.value != option.shared_value
        ):
            raise errors.OptionError(
                option.key,
                definitions.as_text(choice.value),
                option.shared_reason,
                definitions.as_text(option.shared_value),
                choice.origin,
            )
