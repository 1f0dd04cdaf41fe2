# SPDX-License-Identifier: Apache-2.0

"""The requested options of a volume, from Cinder's objects."""

from collections.abc import Mapping
import dataclasses
import functools
from typing import Protocol

from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import multiattach
from rbd_volume_options import options
from rbd_volume_options import precedence
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
    """The volume's metadata and its type's extra specs, parsed.

    :ivar levels: the values of both, with the defaults of the back end
    :ivar tenant_options: the keys that tenants may set on the volume
    """

    levels: tuple[precedence.Level, ...]
    multiattach: bool
    replicated: bool
    tenant_options: frozenset[str] = frozenset()

    def resolve(
        self, *more: precedence.Level, backend_too: bool = True
    ) -> precedence.Resolved:
        """Return the values with the highest precedence.

        :param backend_too: False to ignore the defaults of the back end, as
            for a change of an existing volume
        :raises OptionError: if the values contradict the type
        """
        levels = [
            level
            for level in (*self.levels, *more)
            if backend_too or level.origin is not errors.Origin.BACKEND
        ]
        resolved = dataclasses.replace(
            precedence.resolve(levels), multiattach=self.multiattach
        )
        multiattach.check_shareable(
            resolved, self.multiattach, self.replicated
        )
        return resolved


@dataclasses.dataclass(frozen=True)
class Texts:
    """The metadata of a volume and extra specs of its type, parsed once."""

    metadata: Mapping[str, str]
    specs: Mapping[str, str]

    @functools.cached_property
    def _volume_options(self) -> options.VolumeOptions:
        return options.parse(
            self.metadata, keys.Scope.VOLUME, errors.Origin.VOLUME_METADATA
        )

    @functools.cached_property
    def _type_options(self) -> options.VolumeOptions:
        return options.parse(
            self.specs, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE
        )

    @property
    def tenant_options(self) -> frozenset[str] | None:
        """The keys that the type lets tenants set; None if it does not say.

        :raises OptionError: for invalid extra specs
        """
        return self._type_options.plain.get(keys.TENANT_OPTIONS)

    def request(self, settings: backend_settings.BackendSettings) -> Request:
        """Return the requested options for a back end.

        :raises OptionError: for options that are invalid or not allowed
        """
        # Extra specs first: of two errors, the administrator's is reported.
        kind = self._type_options
        levels = (
            precedence.Level(
                errors.Origin.VOLUME_METADATA, self._volume_options
            ),
            precedence.Level(errors.Origin.VOLUME_TYPE, kind),
            settings.level,
        )
        for level in levels:
            options.check_allowed(level.options, settings.limits, level.origin)
        return Request(
            levels,
            multiattach=is_multiattach(self.specs),
            replicated=_is_replicated(self.specs),
            tenant_options=self._allowed(settings),
        )

    def check_tenant(self, settings: backend_settings.BackendSettings) -> None:
        """Check that the tenant may set the keys in the metadata.

        Unknown keys are left to :meth:`request`, whose message is better.

        :raises OptionError: with the first key that the tenant may not set
        """
        registry.check_tenant(self.metadata, self._allowed(settings))

    def _allowed(
        self, settings: backend_settings.BackendSettings
    ) -> frozenset[str]:
        chosen = self.tenant_options
        return settings.limits.tenant_options if chosen is None else chosen


def of_volume(
    volume: Volume,
    specs: Mapping[str, str],
    settings: backend_settings.BackendSettings,
) -> Request:
    """Return the requested options of a volume, with a type.

    :param specs: the extra specs of the type
    :raises OptionError: for options that are invalid or not allowed
    """
    texts = Texts(metadata_of(volume), specs)
    texts.check_tenant(settings)
    return texts.request(settings)


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
