# SPDX-License-Identifier: Apache-2.0

"""Requested changes of an existing RBD image: retype, extend, manage."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import registry
from rbd_volume_options import request


@dataclasses.dataclass(frozen=True)
class Change:
    """The change that an existing image requires.

    :ivar enable: features to enable
    :ivar disable: features to disable
    :ivar obstacle: why the change is not possible in place; None if it is
    :ivar to_default: whether the features become those of a new volume without
        requested features
    """

    enable: features.Features = frozenset()
    disable: features.Features = frozenset()
    obstacle: errors.OptionError | None = None
    to_default: bool = False


def needed(
    requested: request.Request, state: options.Values, size: int
) -> Change:
    """Return the change that makes an image match its volume's request.

    Only the metadata and the type matter. The defaults of the back end apply
    to new volumes, not to existing ones.

    :param size: bytes
    :raises OptionError: if the request contradicts itself, or if the image is
        too large for the requested object map
    """
    resolved = requested.resolve(backend_too=False)
    obstacle = _mismatch(resolved, state)
    if obstacle:
        return Change(obstacle=obstacle)
    if requested.multiattach:
        # The stock driver disables the single-client features itself.
        return Change()
    wanted = resolved.features_over(state.image_features & features.CHOOSABLE)
    enable = wanted - state.image_features
    disable = (state.image_features & features.CHOOSABLE) - wanted
    fixed = (enable | disable) - features.MUTABLE
    # deep-flatten can be disabled but not enabled again.
    fixed -= disable & {features.DEEP_FLATTEN}
    if fixed:
        return Change(obstacle=_feature_mismatch(resolved, state))
    operator_limits.check_object_map(
        state.layout,
        size,
        wanted,
        resolved.features_origin,
    )
    return Change(enable, disable)


def contradiction(
    requested: request.Request, state: options.Values
) -> errors.OptionError | None:
    """Return how an image to take over contradicts the request, or None."""
    resolved = requested.resolve(backend_too=False)
    mismatch = _mismatch(resolved, state)
    if mismatch:
        return mismatch
    has = state.image_features & features.CHOOSABLE
    if not requested.multiattach and resolved.features_over(has) != has:
        return _feature_mismatch(resolved, state)
    return None


def disagreement(
    metadata: options.Values, state: options.Values
) -> errors.OptionError | None:
    """Return how an image contradicts a volume's metadata alone, or None."""
    mismatch = _mismatch(metadata, state) or disk_mismatch(
        metadata, state.disk
    )
    has = state.image_features & features.CHOOSABLE
    if not mismatch and metadata.features_over(has) != has:
        return _feature_mismatch(metadata, state)
    return mismatch


def _mismatch(
    resolved: options.Values, state: options.Values
) -> errors.OptionError | None:
    """Return the first key of layout or data pool that differs, or None."""
    size = resolved.choice(keys.OBJECT_SIZE)
    unit = resolved.choice(keys.STRIPE_UNIT)
    current = state.layout
    if resolved.layout_over(current) != current:
        if size and size.value != current.object_size:
            return _differs(keys.OBJECT_SIZE, size, str(current.object_size))
        if unit and unit.value:
            return _differs(
                keys.STRIPE_UNIT,
                unit,
                f'{current.stripe_unit} with {keys.STRIPE_COUNT} = '
                f'{current.stripe_count}',
            )
    pool = resolved.choice(keys.DATA_POOL)
    if pool and pool.value != state.data_pool:
        return _differs(keys.DATA_POOL, pool, state.data_pool or 'none')
    return None


def disk_mismatch(
    resolved: options.Values, disk: Mapping[str, Any]
) -> errors.OptionError | None:
    """Return how a volume's metadata contradicts its disk, or None.

    The type of a volume may differ: it applies to new volumes.

    :param disk: the recorded properties of the disk, by key
    """
    for option in registry.of_kind(definitions.Kind.DISK):
        choice = resolved.choice(option.key)
        if (
            choice is not None
            and choice.origin is errors.Origin.VOLUME_METADATA
            and choice.value != disk.get(option.key)
        ):
            return _differs(
                option.key, choice, str(disk.get(option.key, 'none'))
            )
    return None


def _feature_mismatch(
    resolved: options.Values, state: options.Values
) -> errors.OptionError:
    has = features.joined(state.image_features & features.CHOOSABLE)
    choice = resolved.choice(keys.OBJECT_MAP)
    if choice:
        shown = options.Choice(str(choice.value).lower(), choice.origin)
        return _differs(keys.OBJECT_MAP, shown, f'features {has}')
    wanted = resolved.choice(keys.FEATURES)
    value = features.joined(wanted.value) if wanted else ''
    origin = wanted.origin if wanted else errors.Origin.VOLUME_TYPE
    return _differs(keys.FEATURES, options.Choice(value, origin), has)


def _differs(key: str, choice: options.Choice, has: str) -> errors.OptionError:
    return errors.OptionError(
        key,
        choice.value,
        phrases.Phrase(
            'differs from the image; the value is fixed at creation'
        ),
        has,
        choice.origin,
    )


def origins_of_managed(
    metadata: Mapping[str, str], specs: Mapping[str, str]
) -> dict[str, errors.Origin]:
    """Return what set each part of an image that becomes managed.

    What no key requested is never restricted.
    """
    return {
        part: (
            errors.Origin.VOLUME_METADATA
            if names & metadata.keys()
            else errors.Origin.VOLUME_TYPE
            if names & specs.keys()
            else errors.Origin.CLUSTER
        )
        for part, names in options.PARTS.items()
    }


def disk_of_managed(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of the disk of a managed image, by key.

    Only the administrator knows what the data was written for. The defaults of
    the type and of the back end are for new volumes.
    """
    return options.parse(
        metadata, keys.Scope.VOLUME, errors.Origin.VOLUME_METADATA
    ).disk


def check_corrected(
    metadata: Mapping[str, str],
    fixed: Collection[str],
    state: options.Values | None,
) -> None:
    """Check that fixed keys that an administrator corrects match the image.

    :param fixed: the keys that are set
    :param state: of the image; None without a record
    :raises OptionError: if they do not
    """
    origin = errors.Origin.VOLUME_METADATA
    requested = options.parse(metadata, keys.Scope.VOLUME, origin)
    if state is None:
        key = min(fixed)
        raise errors.OptionError(
            key,
            metadata[key],
            phrases.Phrase('the volume has no record of its image'),
            phrases.Phrase('removal of the key'),
            origin,
        )
    contradiction = disagreement(requested, state)
    if contradiction:
        raise contradiction
