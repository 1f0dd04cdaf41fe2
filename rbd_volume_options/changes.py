# SPDX-License-Identifier: Apache-2.0

"""What keys request of an existing RBD image, and what it has."""

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import registry


def contradiction(
    resolved: options.Values, state: options.Values
) -> errors.OptionError | None:
    """Return how an image contradicts requested values, or None.

    The stock driver itself changes the features for a multi-attach type.
    """
    has = state.image_features & features.CHOOSABLE
    if obstacle := fixed_contradiction(resolved, state):
        return obstacle
    if not resolved.multiattach and resolved.features_over(has) != has:
        return feature_contradiction(resolved, state)
    return None


def disagreement(
    metadata: options.Values, state: options.Values
) -> errors.OptionError | None:
    """Return how an image contradicts a volume's metadata alone, or None."""
    return contradiction(metadata, state) or disk_mismatch(
        metadata, state.disk
    )


def fixed_contradiction(
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


def feature_contradiction(
    resolved: options.Values, state: options.Values
) -> errors.OptionError:
    """Return how the features of an image contradict requested values."""
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
    if difference := disagreement(requested, state):
        raise difference
