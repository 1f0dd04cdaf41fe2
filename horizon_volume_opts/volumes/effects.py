# SPDX-License-Identifier: Apache-2.0

"""What a volume type does to the RBD image of an existing volume.

Only what the response of Cinder's extension shows is known here: the values
that the type itself sets. It does not show the back ends of the type.
"""

from collections.abc import Collection
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import layouts
from horizon_volume_opts import offers
from horizon_volume_opts import wording
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import registry

OTHER_BACKEND = _(
    'If the new volume type uses another back end, the volume must be '
    'migrated: select the migration policy On Demand.'
)
_KEPT = _(
    'If the volume stays on its back end, it keeps its layout, its image '
    'features and the options in its metadata.'
)
_OPTIONS = _('The new volume type sets these options: %(options)s.')
_LAYOUT = _('Layout: %(now)s → %(after)s.')
_POOL = _('The new volume type sets another data pool.')
_ENABLES = _('The new volume type adds these image features: %(names)s.')
_DISABLES = _('The new volume type removes these image features: %(names)s.')
_CONVERTS = _(
    'If the volume is detached and has no clones, its data is copied to a new '
    'image, and until the former image is removed, the volume uses its space '
    'twice. Otherwise the volume must be migrated: select the migration '
    'policy On Demand.'
)


def on_image(
    state: options.Values | None,
    offer: offers.UserOffer,
    kept: Collection[str],
    is_changed: bool,
) -> Iterator[Any]:
    """Yield sentences about the image and a migration.

    :param state: the image; None if the volume has none
    :param kept: the keys that the volume keeps, which override its type
    :param is_changed: whether keys are removed from the volume
    """
    needs_image = False
    if state and not offer.reason:
        wanted = _features(state, offer, kept)
        added = wanted - state.image_features
        removed = state.image_features - wanted
        # What the volume loses comes first.
        if removed:
            yield _DISABLES % {'names': ', '.join(sorted(removed))}
        wanted_layout = _layout(state.layout, offer, kept)
        if wanted_layout != state.layout:
            yield _LAYOUT % {
                'now': layouts.in_words(state.layout),
                'after': layouts.in_words(wanted_layout),
            }
            needs_image = True
        if _sets_pool(state, offer):
            yield _POOL
            needs_image = True
        if added:
            yield _ENABLES % {'names': ', '.join(sorted(added))}
            # librbd enables the others only on a new image.
            needs_image = needs_image or bool(added - features.MUTABLE)
        if not (is_changed or needs_image or added or removed):
            yield _KEPT
    yield _CONVERTS if needs_image else OTHER_BACKEND


def on_options(
    offer: offers.UserOffer, kept: Collection[str]
) -> Iterator[Any]:
    """Yield a sentence about the changeable options that a type sets.

    Limits on reads and writes have a sentence of their own.

    :param kept: as for :func:`on_image`
    """
    values = [
        f'{wording.label(key)}: {wording.value_of(key, offer.default(key))}'
        for key in (o.key for o in registry.changeable() if not o.rules)
        if key not in kept
        and _sets(offer, key)
        and offer.default(key) is not None
    ]
    if values:
        yield _OPTIONS % {'options': ', '.join(values)}


def _sets(offer: offers.UserOffer, key: str) -> bool:
    return offer.origin(key) is errors.Origin.VOLUME_TYPE


def _layout(
    current: layout.ImageLayout, offer: offers.UserOffer, kept: Collection[str]
) -> layout.ImageLayout:
    """Return a layout with the values that a type itself sets."""
    values = {
        keys.OBJECT_SIZE: current.object_size,
        keys.STRIPE_UNIT: current.stripe_unit,
        keys.STRIPE_COUNT: current.stripe_count,
    }
    for key in values:
        if _sets(offer, key) and key not in kept:
            values[key] = offer.default(key) or values[key]
    if current.striping is None and not _sets(offer, keys.STRIPE_UNIT):
        # Without striping, a stripe unit is as large as an object.
        values[keys.STRIPE_UNIT] = values[keys.OBJECT_SIZE]
    return layout.ImageLayout.from_numbers(*values.values())


def _sets_pool(state: options.Values, offer: offers.UserOffer) -> bool:
    """Return whether a type sets another pool; only administrators see it."""
    return _sets(offer, keys.DATA_POOL) and offer.default(
        keys.DATA_POOL
    ) not in (None, state.data_pool)


def _features(
    state: options.Values, offer: offers.UserOffer, kept: Collection[str]
) -> features.Features:
    """Return the features of an image after the change, as far as known."""
    has = state.image_features
    if {keys.FEATURES, keys.OBJECT_MAP} & frozenset(kept):
        return has
    wanted = has
    if _sets(offer, keys.FEATURES) and offer.default(keys.FEATURES):
        # The others follow from the layout and the data pool.
        others = has - features.CHOOSABLE
        wanted = others | frozenset(offer.default(keys.FEATURES))
    on = offer.default(keys.OBJECT_MAP)
    if _sets(offer, keys.OBJECT_MAP) and on is not None:
        wanted = features.with_object_map(wanted, on)
    return wanted
