# SPDX-License-Identifier: Apache-2.0

"""The back ends of a volume type, and what all of them offer."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from cinder.api.openstack import wsgi

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import request
from rbd_volume_options import wire


@dataclasses.dataclass(frozen=True)
class TypeOffer:
    """What is offered for volumes of a type.

    :ivar specs: the type's extra specs
    :ivar settings: the settings of each back end that the type may use
    :ivar reason: why nothing is offered; None if something is offered
    """

    specs: Mapping[str, str]
    settings: tuple[backend_settings.BackendSettings, ...] = ()
    reason: str | None = None

    @classmethod
    def of(
        cls, specs: Mapping[str, str], matching: Iterable[pools.Pool]
    ) -> 'TypeOffer':
        """Return what the matching pools offer for volumes of a type."""
        reported = [pool.settings for pool in matching]
        ours = tuple(settings for settings in reported if settings is not None)
        if not reported:
            return cls(specs, reason=wire.NO_BACKEND)
        if not ours:
            return cls(specs, reason=wire.NOT_RBD)
        if len(ours) < len(reported):
            return cls(specs, reason=wire.MIXED)
        return cls(specs, ours)

    def check_offered(
        self, items: Mapping[str, str], origin: errors.Origin
    ) -> None:
        """Check that the back ends of the type use our keys.

        :raises OptionError: with the first key, if they do not
        """
        if self.reason and items:
            key = min(items)
            raise errors.OptionError(
                key, items[key], self.reason, keys.NO_KEY, origin
            )

    def requests(
        self, metadata: Mapping[str, str]
    ) -> list[tuple[request.Request, backend_settings.BackendSettings]]:
        """Return the requested options for each back end.

        :raises OptionError: for options that one of them does not allow
        """
        texts = request.Texts(metadata, self.specs)
        requested = []
        for settings in self.settings:
            texts.check_tenant(settings)
            requested.append((texts.request(settings), settings))
        return requested

    @property
    def tenant_options(self) -> frozenset[str]:
        """The keys that tenants may set on all back ends of the type."""
        chosen = request.Texts({}, self.specs).tenant_options
        if chosen is not None:
            return chosen
        return frozenset(definitions.volume_keys()).intersection(
            *(each.limits.tenant_options for each in self.settings)
        )

    @property
    def data_pools(self) -> list[str] | None:
        """The possible data pools of all back ends; None if unknown."""
        by_backend = [each.data_pools for each in self.settings]
        known = [set(each) for each in by_backend if each is not None]
        if len(known) < len(by_backend):
            return None
        return sorted(set.intersection(*known))


class Controller(wsgi.Controller):
    """A controller of the extension, which knows the pools and the types."""

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        super().__init__()
        self._reported = reported
        self._types = types

    def _offer(self, volume_type: protocols.VolumeType) -> TypeOffer:
        specs = volume_type['extra_specs'] or {}
        offer = TypeOffer.of(specs, self._reported.matching(specs))
        if offer.reason == wire.NO_BACKEND:
            raise refusals.no_backend(volume_type['name'])
        return offer
