# SPDX-License-Identifier: Apache-2.0

"""The back ends of a volume type, and what all of them offer."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import Protocol

from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import registry
from rbd_volume_options import request

# Why a volume type has no options.
NO_BACKEND = phrases.Phrase(
    'no back end that has reported its capabilities matches the volume type'
)
NOT_RBD = phrases.Phrase(
    'no back end of the volume type supports RBD volume options'
)
MIXED = phrases.Phrase(
    'the volume type can also use back ends that do not support RBD volume '
    'options'
)


class Pool(Protocol):
    """A pool that a back end has reported.

    Its settings are None without our driver.
    """

    @property
    def settings(self) -> backend_settings.BackendSettings | None: ...


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
    def of_pools(
        cls,
        specs: Mapping[str, str],
        matching: Iterable[Pool],
    ) -> 'TypeOffer':
        """Return what the matching pools offer for volumes of a type."""
        reported = [pool.settings for pool in matching]
        ours = tuple(settings for settings in reported if settings is not None)
        if not reported:
            return cls(specs, reason=NO_BACKEND)
        if not ours:
            return cls(specs, reason=NOT_RBD)
        if len(ours) < len(reported):
            return cls(specs, reason=MIXED)
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

    def requests(self, metadata: Mapping[str, str]) -> list[request.Request]:
        """Return the requested options for each back end.

        :raises OptionError: for options that one of them does not allow
        """
        return [
            request.read_request(metadata, self.specs, settings)
            for settings in self.settings
        ]

    @property
    def tenant_options(self) -> frozenset[str]:
        """The keys that tenants may set on all back ends of the type."""
        chosen = request.tenant_options_in(self.specs)
        if chosen is not None:
            return chosen
        return frozenset(registry.volume_keys()).intersection(
            *(settings.limits.tenant_options for settings in self.settings)
        )

    @property
    def data_pools(self) -> list[str] | None:
        """The possible data pools of all back ends; None if unknown."""
        by_backend = [settings.data_pools for settings in self.settings]
        known = [set(pools) for pools in by_backend if pools is not None]
        if len(known) < len(by_backend):
            return None
        return sorted(set.intersection(*known))

    def answer(
        self,
        volume_type: Mapping[str, Any],
        settable: Collection[str],
        shows_pools: bool = True,
    ) -> dict[str, Any]:
        """Return the response for the volume type with some settable keys."""
        answer: dict[str, Any] = {
            'id': volume_type['id'],
            'name': volume_type['name'],
            'supported': False,
            'reason': self.reason,
            'options': {},
        }
        if self.reason:
            return answer
        try:
            defaults = [
                requested.resolve(requested.settings.ceph_defaults)
                for requested in self.requests({})
            ]
            allowed = self.tenant_options & frozenset(settable)
        except errors.OptionError as error:
            # Extra specs that were set without this extension.
            answer['reason'] = str(
                error if shows_pools else error.for_tenants()
            )
            return answer
        answer['supported'] = True
        answer['require_whole_stripes'] = any(
            each.limits.require_whole_stripes for each in self.settings
        )
        backends = [each.limits for each in self.settings]
        is_shared = request.is_multiattach(self.specs)
        for option in registry.with_values():
            choice = _default_of(option.key, defaults, is_shared)
            is_pool = option.kind is definitions.Kind.DATA_POOL
            if is_pool and not shows_pools:
                choice = None
            answer['options'][option.key] = described = {
                'summary': str(option.summary),
                'type': option.value_type.value,
                'settable': option.key in allowed,
                'fixed_at_creation': option.fixed,
                'default': definitions.as_json(choice.value)
                if choice
                else None,
                'default_from': choice.origin.label if choice else None,
                **option.bounds_of(backends, is_shared),
            }
            for field, key in option.rules.items():
                if rule := _default_of(key, defaults, is_shared=False):
                    described[field] = rule.value
            if option.rules:
                described['minimum'] = min(
                    described['minimum'], described['maximum']
                )
            if is_pool and shows_pools:
                described['candidates'] = self.data_pools
        return answer


def _default_of(
    key: str, defaults: Iterable[options.Values], is_shared: bool
) -> options.Choice | None:
    """Return the default of a key and its origin.

    None if the back ends differ, or if Ceph's configuration decides and they
    have not reported it. A value of None stands for volumes without striping.
    """
    choices = [_effective(key, values, is_shared) for values in defaults]
    if any(choice != choices[0] for choice in choices):
        return None
    return choices[0]


def _effective(
    key: str, values: options.Values, is_shared: bool
) -> options.Choice | None:
    """Return the value of a key, derived from the others if it is unset.

    Each of ``rbd:object_map`` and ``rbd:features`` changes the other, and a
    multi-attach type changes some values.
    """
    choice, chosen = values.choice(key), values.choice(keys.FEATURES)
    option = registry.OPTIONS[key]
    if is_shared and option.shared_reason is not None:
        return options.Choice(option.shared_value, errors.Origin.VOLUME_TYPE)
    if is_shared and key == keys.OBJECT_MAP:
        return options.Choice(False, errors.Origin.VOLUME_TYPE)
    if key == keys.FEATURES and chosen:
        names = values.features_over(chosen.value)
        if is_shared:
            names -= features.SINGLE_CLIENT
        return options.Choice(names, chosen.origin)
    if key == keys.OBJECT_MAP and chosen and not choice:
        has_map = features.OBJECT_MAP in chosen.value
        return options.Choice(has_map, chosen.origin)
    return choice


def restricts(
    specs: Mapping[str, str],
    matching: Iterable[Pool],
) -> bool:
    """Return whether a type or its pools may refuse a volume without keys."""
    return bool(options.ours(specs)) or any(
        pool.settings
        and (
            keys.STRIPING in pool.settings.options
            or pool.settings.options.disk
        )
        for pool in matching
    )
