# SPDX-License-Identifier: Apache-2.0

"""Checks of requested keys against what is offered."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import math
from typing import Any

from rbd_volume_options import accepted_keys
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import offers
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import plan
from rbd_volume_options import registry
from rbd_volume_options import sizes
from rbd_volume_options.families import sector_size

Items = Mapping[str, str]

# Extra specs of Cinder: the sizes of volumes of a type, in GiB.
MINIMUM_SIZE = 'provisioning:min_vol_size'
MAXIMUM_SIZE = 'provisioning:max_vol_size'

_FIXED = 'fixed at creation of the volume'

# The largest number in Cinder's database.
_MAX_SIZE = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class VolumeSource:
    """The source of a volume.

    :ivar size: in GiB, for a volume whose request has no size; 0 for none
    :ivar volume_type_id: for a volume whose request has no type
    :ivar state: its RBD image; None if the API does not know it
    :ivar inherited: what a volume inherits from it; None if nothing is known
    :ivar written: the disk for which the data of a backup were written, by
        key; None if its volume was deleted, or for another source
    :ivar is_image: whether it is a Glance image, which makes volumes bootable
    :ivar is_empty: whether it is a Glance image without data
    :ivar known: False if the result depends on an RBD image that the API
        cannot read
    """

    size: int = 0
    volume_type_id: str | None = None
    state: options.Values | None = None
    inherited: inheritance.Source | None = None
    known: bool = True
    is_image: bool = False
    is_empty: bool = False
    written: Mapping[str, Any] | None = None

    @property
    def hint(self) -> str:
        """The layout and features of the source, for a message."""
        if self.state is None:
            return ''
        names = features.joined(self.state.image_features)
        return f'the source has {self.state.layout} and features {names}'


def ours(items: object) -> dict[str, str] | None:
    """Return the ``rbd:`` items of a part of a request, not checked yet.

    :returns: None for input that Cinder's own schema refuses
    """
    if items is None:
        return {}
    if not isinstance(items, dict):
        return None
    items_of_ours = {k: v for k, v in items.items() if keys.is_ours(k)}
    if not all(isinstance(value, str) for value in items_of_ours.values()):
        return None
    return items_of_ours


def check_syntax(items: Items, scope: keys.Scope) -> None:
    """Check keys and values without their type and back end.

    :raises OptionError: for options that are invalid on all volumes
    """
    try:
        options.check_keys(items, scope)
    except errors.OptionError as error:
        raise error.at(options.ORIGINS[scope]) from None
    options.parse(items, scope)


def unprefixed_notice(items: Mapping[str, Any]) -> str | None:
    """Return a notice of keys that have no effect without their prefix."""
    known = registry.volume_keys()
    names = sorted(name for name in items if f'{keys.PREFIX}{name}' in known)
    if not names:
        return None
    meant = ', '.join(f'{keys.PREFIX}{name}' for name in names)
    return (
        f'{", ".join(names)} has no effect without the prefix {keys.PREFIX}. '
        f'Use {meant}'
    )


def check_other_metadata(items: Mapping[str, Any], kind: str) -> None:
    """Check new items of metadata where no key has an effect.

    :raises OptionError: for a key that looks like an ``rbd:`` key
    """
    for name, value in items.items():
        if keys.is_ours(name) and isinstance(value, str):
            raise errors.OptionError(
                registry.shown_key(name),
                value,
                phrases.Phrase('not allowed in {kind} metadata', kind=kind),
                phrases.Phrase(
                    'keys that do not begin with {prefix}', prefix=keys.PREFIX
                ),
            )


def check_removable(
    name: str, existing: Mapping[str, Any], scope: keys.Scope
) -> None:
    """Check that the removal of a key removes only this ``rbd:`` key.

    The database deletes each key that it considers equal. A misspelled key may
    be removed if there is no other spelling of it.

    :raises OptionError: for another spelling of a key
    """
    twins = [
        other
        for other in existing
        if keys.normal_name(other) == keys.normal_name(name)
    ]
    if keys.is_misspelled(name) and twins != [name]:
        raise options.unknown_key(name, '', scope).at(options.ORIGINS[scope])


def check_created(
    offer: offers.TypeOffer,
    items: Items,
    size: int,
    source: VolumeSource,
    settable: frozenset[str] | None = None,
) -> None:
    """Check the requested options of a new volume.

    :param size: GiB
    :param settable: the keys that the policy allows; None for all
    :raises OptionError: for options that a possible back end would refuse
    """
    offer.check_offered(items, errors.Origin.VOLUME_METADATA)
    if settable is None:
        settable = frozenset(registry.volume_keys())
    for requested in offer.requests(items):
        settings = requested.settings
        new = inheritance.NewImage(
            requested,
            requested.tenant_options & settable,
            size * sizes.GIB,
            settings.stock_state,
        )
        if source.is_image:
            sector_size.check_bootable(new.resolve())
        plan.plan_image(
            new.resolve(source.inherited, backend_too=source.known),
            settings.stock_state() if source.known else options.UNKNOWN,
            new.size,
            settings.limits,
        )


def check_type(
    offer: offers.TypeOffer, size: int, source: VolumeSource
) -> None:
    """Check that a volume without keys of its own can be created.

    :param size: GiB
    :raises OptionError: if all back ends would refuse it
    """
    first: errors.OptionError | None = None
    for settings in offer.settings:
        alone = dataclasses.replace(offer, settings=(settings,))
        try:
            check_created(alone, {}, size, source)
        except errors.OptionError as error:
            first = first or error
        else:
            return
    if first:
        raise first


def check_readable(
    offer: offers.TypeOffer, items: Items, written: Mapping[str, Any]
) -> None:
    """Check that servers can read a backup that a new volume receives.

    :param written: the disk for which the data were written, by key
    :raises OptionError: if they could not on one of the possible back ends
    """
    disks = [each.resolve().disk for each in offer.requests(items)]
    for disk in disks or [{}]:
        sector_size.check_receives(disk, written)


def check_fixed(names: Iterable[str], before: Items, after: Items) -> None:
    """Check that none of the keys that change is fixed.

    Unknown keys that were set without this extension may be removed.

    :raises OptionError: with the first fixed key that changes
    """
    changeable = [option.key for option in registry.changeable()]
    for name in sorted(names):
        if name not in registry.volume_keys():
            if name in after:
                check_syntax({name: after[name]}, keys.Scope.VOLUME)
        elif registry.is_fixed(name):
            raise errors.OptionError(
                name,
                after.get(name, before.get(name)),
                _FIXED if name in after else f'{_FIXED} and cannot be removed',
                phrases.Phrase(
                    'changes of {names} only', names=', '.join(changeable)
                ),
                errors.Origin.VOLUME_METADATA,
            )


def check_attached(offer: offers.TypeOffer, after: Items, size: int) -> None:
    """Check the items that matter to the next attachment of a volume.

    :param size: GiB
    :raises OptionError: for an item for which it would be refused
    """
    items = options.for_attachment(options.ours(after))
    offer.check_offered(items, errors.Origin.VOLUME_METADATA)
    relevant = offers.TypeOffer(
        options.for_attachment(offer.specs), offer.settings
    )
    for requested in relevant.requests(items):
        plan.configuration_of(requested.resolve(), size * sizes.GIB)


def check_specs(offer: offers.TypeOffer) -> None:
    """Check a type's extra specs as far as they do not depend on a volume.

    :raises OptionError: for options that no volume of the type can have
    """
    items = options.ours(offer.specs)
    check_syntax(items, keys.Scope.TYPE)
    if offer.reason == offers.NO_BACKEND:
        # Types may be created before their back end exists.
        return
    offer.check_offered(items, errors.Origin.VOLUME_TYPE)
    for requested in offer.requests({}):
        resolved, settings = requested.resolve(), requested.settings
        image_layout = resolved.layout_over(
            layout.ImageLayout(settings.chunk_size)
        )
        layout.check_unit(image_layout, resolved.origin(keys.STRIPING))
        operator_limits.check_layout(
            image_layout, resolved.origins or {}, settings.limits
        )
        plan.configuration_of(resolved, sizes.GIB)
        check_sizes(
            offer.specs,
            image_layout,
            resolved.features_over(settings.ceph_features or frozenset()),
            settings.limits,
        )


def check_sizes(
    specs: Mapping[str, str],
    image_layout: layout.ImageLayout,
    image_features: features.Features,
    bounds: operator_limits.Limits,
) -> None:
    """Check that a size within the limits of the type matches the layout.

    :raises OptionError: if none does
    """
    low = _bound(specs, MINIMUM_SIZE) or 1
    high = _bound(specs, MAXIMUM_SIZE)
    step = 1
    striping = image_layout.striping
    if striping and bounds.require_whole_stripes:
        step = operator_limits.whole_stripes_step(image_layout)
        if high is not None and high // step * step < low:
            raise errors.OptionError(
                keys.STRIPE_COUNT,
                striping.count,
                phrases.Phrase(
                    'the size of a volume must be a multiple of {step} GiB, '
                    'and the volume type allows {low} to {high} GiB',
                    step=step,
                    low=low,
                    high=high,
                ),
                phrases.Phrase(
                    'values whose product divides a size that the type allows'
                ),
                errors.Origin.VOLUME_TYPE,
            )
    smallest = math.ceil(low / step) * step
    operator_limits.check_object_map(
        image_layout,
        smallest * sizes.GIB,
        image_features,
        errors.Origin.VOLUME_TYPE,
    )


def _bound(specs: Mapping[str, str], key: str) -> int | None:
    """Return a limit in GiB; None if Cinder ignores it too."""
    # The text can have thousands of digits.
    try:
        return max(0, min(int(specs[key]), _MAX_SIZE))
    except (KeyError, ValueError):
        return None


def attached_notice(different: frozenset[str], attachments: int) -> str | None:
    """Return a notice that existing attachments keep their values.

    :param different: the keys that were changed
    :param attachments: number of the attachments that are connected
    """
    changed = sorted(
        option.key
        for option in registry.of_kind(definitions.Kind.CONNECTION)
        if option.key in different
    )
    if not attachments or not changed:
        return None
    return (
        f'{", ".join(changed)} takes effect at the next attachment; '
        f'existing attachments ({attachments}) keep their mode'
    )


def ignored_notice(
    ignored: Mapping[str, str], different: frozenset[str]
) -> str | None:
    """Return a notice of the keys that a change has made invalid."""
    families = {
        registry.OPTIONS[key].family
        for key in different & registry.OPTIONS.keys()
    }
    dropped = {
        key: reason
        for key, reason in ignored.items()
        if registry.OPTIONS[key].family in families
    }
    if not dropped:
        return None
    reasons = accepted_keys.Acceptance({}, dropped).reasons
    return f'keys of the volume are ignored, correct or remove them: {reasons}'
