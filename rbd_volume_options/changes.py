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

_FIXED = (definitions.Kind.LAYOUT, definitions.Kind.DATA_POOL)


def contradiction(
    resolved: options.Values, state: options.Values
) -> errors.OptionError | None:
    """Return how an image contradicts requested values, or None."""
    return fixed_contradiction(resolved, state) or feature_contradiction(
        resolved, state
    )


def fixed_contradiction(
    resolved: options.Values, state: options.Values
) -> errors.OptionError | None:
    """Return the first key of layout or data pool that differs, or None."""
    has = state.by_option()
    for option in registry.OPTIONS.values():
        choice = resolved.choice(option.key)
        if (
            option.kind in _FIXED
            and choice is not None
            and choice.value not in (None, has.get(option.key))
        ):
            current = str(has.get(option.key, 'none'))
            return _differs(option.key, choice, current)
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
) -> errors.OptionError | None:
    """Return how the features of an image contradict requested values.

    The stock driver itself changes the features for a multi-attach type.
    """
    current = state.image_features & features.CHOOSABLE
    if resolved.multiattach or resolved.features_over(current) == current:
        return None
    has = features.joined(current)
    if choice := resolved.choice(keys.OBJECT_MAP):
        return _differs(keys.OBJECT_MAP, choice, f'features {has}')
    return _differs(keys.FEATURES, resolved.choice(keys.FEATURES), has)


def _differs(
    key: str, choice: options.Choice | None, has: str
) -> errors.OptionError | None:
    return choice and errors.OptionError(
        key,
        definitions.as_text(choice.value),
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
    return options.parse(metadata, keys.Scope.VOLUME).disk


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
    requested = options.parse(metadata, keys.Scope.VOLUME)
    if state is None:
        key = min(fixed)
        raise errors.OptionError(
            key,
            metadata[key],
            phrases.Phrase('the volume has no record of its image'),
            phrases.Phrase('removal of the key'),
            errors.Origin.VOLUME_METADATA,
        )
    difference = contradiction(requested, state) or disk_mismatch(
        requested, state.disk
    )
    if difference:
        raise difference
