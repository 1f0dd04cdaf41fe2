# SPDX-License-Identifier: Apache-2.0

"""The options of a volume type, from the response of Cinder's extension."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from django.utils.translation import gettext as _

from horizon_volume_opts import answers
from horizon_volume_opts import qos
from horizon_volume_opts import wording
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits as limits_module
from rbd_volume_options import options as options_module
from rbd_volume_options import phrases
from rbd_volume_options import plan
from rbd_volume_options import registry
from rbd_volume_options.families import rate_limits as limit_options

Answer = Mapping[str, Any]
Origin = errors.Origin

#: The code for each name of an origin in the response.
_CODES: dict[str | None, str] = {
    text: origin.code
    for origin in Origin
    for text in (origin.label, origin.code)
}

# Used if the API extension does not report a maximum; only Cinder checks then.
_UNKNOWN_MAXIMUM = 1 << 63


@dataclasses.dataclass(frozen=True)
class UserOffer:
    """The options of a volume type for the requesting user.

    :ivar name: the name of the type
    :ivar reason: why there are no options; None if there are options
    :ivar ident: the ID of the type
    :ivar limits_on_use: the limits on reads and writes of QoS specs
    :ivar is_invalid: whether the response for the type is invalid
    :ivar options: the description of each key in Cinder's response, with the
        code of a default's origin in place of its name
    :ivar require_whole_stripes: whether the size of a volume must be a
        multiple of stripe unit x stripe count
    """

    name: str
    reason: str | None = None
    options: Mapping[str, Answer] = dataclasses.field(default_factory=dict)
    require_whole_stripes: bool = True
    is_invalid: bool = False
    ident: str = ''
    limits_on_use: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, answer: Answer) -> 'UserOffer':
        """Return the offer for an item of the response.

        :raises LookupError: if the item does not have a name
        """
        name = answer['name']
        try:
            reason = answers.reason_of(answer)
            if not answer.get('supported'):
                return cls(name, wording.reason(reason))
            options = answers.options_of(answer)
            limits_on_use = answers.limits_of(answer)
        except answers.InvalidAnswerError:
            # One volume type must not hide the options of the others.
            return cls(name, str(wording.INVALID_ANSWER), is_invalid=True)
        return cls(
            name,
            None,
            {key: _coded(each) for key, each in options.items()},
            answer['require_whole_stripes'],
            ident=str(answer.get('id', '')),
            limits_on_use=limits_on_use,
        )

    @property
    def data_pools(self) -> Sequence[str] | None:
        """The pools in the clusters of all back ends; None if unknown.

        Only administrators know them.
        """
        pools: Sequence[str] | None = self.options.get(keys.DATA_POOL, {}).get(
            'candidates'
        )
        return pools

    @property
    def settable(self) -> frozenset[str]:
        """The keys that the user may set."""
        return frozenset(
            key for key, each in self.options.items() if each['settable']
        )

    def default(self, key: str) -> Any:
        """Return the default of a key; None if unknown."""
        return self.options.get(key, {}).get('default')

    def origin(self, key: str) -> errors.Origin | None:
        """Return where the default of a key was set; None if unknown."""
        code = self.options.get(key, {}).get('default_from')
        return next((each for each in Origin if each.code == code), None)

    def choices(self, key: str) -> list[tuple[str, str]]:
        """Return the values of an option that may be requested."""
        allowed = self.options.get(key, {}).get('allowed', ())
        return [
            (choice, text)
            for choice, text in wording.choices(registry.OPTIONS[key])
            if choice in allowed
        ]

    @property
    def limits(self) -> limits_module.Limits:
        """The limits of the type and its back ends."""
        count = self.options.get(keys.STRIPE_COUNT, {})
        object_size = self.options.get(keys.OBJECT_SIZE, {})
        return limits_module.Limits(
            max_stripe_count=count.get(
                'maximum', limits_module.DEFAULT_MAX_STRIPE_COUNT
            ),
            require_whole_stripes=self.require_whole_stripes,
            min_object_size=object_size.get('minimum', layout.MIN_OBJECT_SIZE),
            max_objects=object_size.get('maximum_objects', _UNKNOWN_MAXIMUM),
            tenant_options=self.settable,
        )

    def limits_in_words(self, kept: Collection[str] = ()) -> str:
        """Return the limits on reads and writes that the type sets, if any.

        :param kept: the keys of a volume, which override those of the type
        """
        own = {
            qos.name_of(each.name, qualifier): str(value)
            for each in keys.LIMITS
            for qualifier, value in self._of_limit(each, kept)
            if value
        }
        return ', '.join(
            filter(None, (qos.text(self.limits_on_use), qos.text(own)))
        )

    def _of_limit(
        self, each: keys.LimitKeys, kept: Collection[str]
    ) -> Iterator[tuple[str, Any]]:
        limit = self.options.get(each.limit, {})
        if each.limit not in kept:
            if self.origin(each.limit) is Origin.VOLUME_TYPE:
                yield '', self.default(each.limit)
            else:
                yield '_per_gb', limit.get('per_gib')
                yield '_per_gb_min', limit.get('per_gib_minimum')
                largest = limit.get('maximum', each.largest)
                yield '_per_gb_max', largest < each.largest and largest
        if self.origin(each.burst) is Origin.VOLUME_TYPE:
            yield '_max', each.burst not in kept and self.default(each.burst)

    def check(
        self,
        metadata: Mapping[str, str],
        size: int | None,
        source: options_module.Values | None = None,
    ) -> None:
        """Check the requested options of a new volume with the known data.

        Cinder checks again. This check saves a request and identifies the
        field.

        :param metadata: the metadata of the new volume
        :param size: bytes; None if the size is invalid or not needed
        :param source: the RBD image of the source volume, if there is one
        :raises OptionError: for options that are invalid or not allowed
        """
        origin = Origin.VOLUME_METADATA
        parsed = options_module.parse(metadata, keys.Scope.VOLUME, origin)
        requested = options_module.ours(metadata)
        if self.reason and requested:
            key = min(requested)
            raise errors.OptionError(
                key, metadata[key], self.reason, keys.NO_KEY, origin
            )
        registry.check_tenant(requested, self.settable)
        self._check_allowed(parsed)
        if size is not None:
            # A volume type can have a limit that only Cinder knows, so that
            # only Cinder can check limits against each other.
            without_limits = {
                key: value
                for key, value in requested.items()
                if registry.OPTIONS[key].policy is not limit_options.SET_LIMITS
            }
            layout_and_features = options_module.parse(
                without_limits, keys.Scope.VOLUME, origin
            )
            plan.plan_image(
                layout_and_features,
                self._base(source),
                size,
                self.limits,
            )

    def _check_allowed(self, parsed: options_module.Values) -> None:
        """Check values against the lists in the response."""
        for key, value in parsed.by_option().items():
            allowed = self.options.get(key, {}).get('allowed')
            if allowed is None:
                continue
            wanted = definitions.as_json(value)
            reason = _('not allowed by this volume type')
            if isinstance(wanted, list):
                excess = sorted(set(wanted) - set(allowed))
                reason = _('not allowed by this volume type: %(names)s') % {
                    'names': ','.join(excess)
                }
                is_allowed = not excess
            else:
                is_allowed = wanted in allowed
            if not is_allowed:
                raise errors.OptionError(
                    key,
                    definitions.as_text(value),
                    reason,
                    ', '.join(map(definitions.as_text, allowed))
                    or phrases.Phrase('no value'),
                    Origin.VOLUME_METADATA,
                )

    def _base(
        self, source: options_module.Values | None
    ) -> options_module.Values:
        """Return the image of a volume without requested options.

        Rules that depend on unknown values refuse nothing.
        """
        base = source or options_module.UNKNOWN
        object_size = self._over(keys.OBJECT_SIZE, source)
        unit = self._over(keys.STRIPE_UNIT, source)
        count = self._over(keys.STRIPE_COUNT, source)
        chosen = self._over(keys.FEATURES, source)
        object_map = self._over(keys.OBJECT_MAP, source)
        striping = base.layout.striping
        if unit and count:
            striping = layout.Striping(unit, count)
        wanted = base.image_features
        if chosen is not None:
            wanted = frozenset(chosen)
        if object_map is not None:
            wanted = features.with_object_map(wanted, object_map)
        return options_module.image_values(
            layout.ImageLayout(
                object_size or base.layout.object_size, striping
            ),
            wanted,
        )

    def _over(self, key: str, source: options_module.Values | None) -> Any:
        """Return the default that overrides a source, or None."""
        option = self.options.get(key, {})
        if source and option.get('default_from') != Origin.VOLUME_TYPE.code:
            # Layout and features of a source override those of the back end.
            return None
        return option.get('default')


def _coded(option: Answer) -> Answer:
    """Return the description of a key, with a code as the default's origin.

    The code is None for an unknown origin.
    """
    words = option.get('default_from')
    return {**option, 'default_from': _CODES.get(words)}
