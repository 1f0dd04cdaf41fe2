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
from horizon_volume_opts import volume_attributes
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
    :ivar options: the description of each key in Cinder's response,
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
        name, reason = answer['name'], answer.get('reason')
        ident = str(answer.get('id', ''))
        invalid = cls(
            name, str(wording.INVALID_ANSWER), is_invalid=True, ident=ident
        )
        if not answer.get('supported'):
            if reason is None or isinstance(reason, str):
                return cls(name, wording.reason(reason), ident=ident)
            return invalid
        try:
            options = answers.options_of(answer)
        except answers.InvalidAnswerError:
            # One volume type must not hide the options of the others.
            return invalid
        return cls(
            name,
            None,
            options,
            answer['require_whole_stripes'],
            ident=ident,
            limits_on_use=(answer.get('qos_limits') or {}).get('limits', {}),
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
        label = self.options.get(key, {}).get('default_from')
        return volume_attributes.ORIGINS.get(label)

    def default_text(self, key: str) -> str:
        """Return the text for the default of a key and its origin."""
        return wording.default(self.default(key), self.origin(key), key)

    def choices(self, key: str) -> list[tuple[str, str]] | None:
        """Return the values of an option that may be requested.

        None for an option whose values are not in a list.
        """
        option = registry.OPTIONS[key]
        allowed = self.options.get(key, {}).get('allowed', ())
        if option.value_type is definitions.ValueType.WORD:
            return [
                (choice, text)
                for choice, text in wording.choices(option)
                if choice in allowed
            ]
        if option.value_type is definitions.ValueType.BOOLEAN:
            words = ('true', wording.YES), ('false', wording.NO)
            return [
                (text, str(word))
                for text, word in words
                if (text == 'true') in allowed
            ]
        return None

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
                self.image(source),
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
            names = wanted if isinstance(wanted, list) else [wanted]
            excess = [each for each in names if each not in allowed]
            reason = _('not allowed by this volume type')
            if excess and isinstance(wanted, list):
                reason = _('not allowed by this volume type: %(names)s') % {
                    'names': ','.join(sorted(excess))
                }
            if excess:
                raise errors.OptionError(
                    key,
                    definitions.as_text(value),
                    reason,
                    ', '.join(map(definitions.as_text, allowed))
                    or phrases.Phrase('no value'),
                    Origin.VOLUME_METADATA,
                )

    def image(
        self,
        source: options_module.Values | None,
        kept: Collection[str] = (),
    ) -> options_module.Values:
        """Return the image of a volume without requested options.

        Rules that depend on unknown values refuse nothing.

        :param source: the RBD image that the volume is made of
        :param kept: keys whose values are those of the source
        """

        def own(key: str) -> Any:
            # Layout and features of a source override those of the back end.
            is_own = not source or self.origin(key) is Origin.VOLUME_TYPE
            return self.default(key) if is_own and key not in kept else None

        base = source or options_module.UNKNOWN
        unit, count = own(keys.STRIPE_UNIT), own(keys.STRIPE_COUNT)
        chosen, object_map = own(keys.FEATURES), own(keys.OBJECT_MAP)
        striping = base.layout.striping
        if unit and count:
            striping = layout.Striping(unit, count)
        wanted = base.image_features
        if chosen is not None:
            # The others follow from the layout and the data pool.
            wanted = frozenset(chosen) | (wanted - features.CHOOSABLE)
        if object_map is not None:
            wanted = features.with_object_map(wanted, object_map)
        return options_module.image_values(
            layout.ImageLayout(
                own(keys.OBJECT_SIZE) or base.layout.object_size, striping
            ),
            wanted,
        )
