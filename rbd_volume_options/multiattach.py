# SPDX-License-Identifier: Apache-2.0

"""Restrictions of multi-attach and replicated volume types."""

from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import precedence
from rbd_volume_options import registry


def check_shareable(
    resolved: precedence.Resolved, multiattach: bool, replicated: bool
) -> None:
    """Check requested values against a multi-attach or replicated type.

    :raises OptionError: if the type disables a requested feature or cache
        mode, or enables a feature that ``rbd:features`` does not have
    """
    wanted = resolved.image_features
    if multiattach:
        _check_multiattach(resolved)
    if replicated and wanted and wanted.origin in precedence.ASKED:
        needed = {features.EXCLUSIVE_LOCK, features.JOURNALING}
        for name in sorted(needed - wanted.value):
            raise errors.OptionError(
                keys.FEATURES,
                features.joined(wanted.value),
                phrases.Phrase(
                    'a replicated volume type requires {name}', name=name
                ),
                phrases.Phrase(
                    'features with {names}', names=' and '.join(sorted(needed))
                ),
                wanted.origin,
            )


def _check_multiattach(resolved: precedence.Resolved) -> None:
    object_map, wanted = resolved.object_map, resolved.image_features
    if (
        object_map
        and object_map.value
        and object_map.origin in precedence.ASKED
    ):
        raise errors.OptionError(
            keys.OBJECT_MAP,
            'true',
            phrases.Phrase(
                'volumes of a multi-attach type can have several writing '
                'clients'
            ),
            'false',
            object_map.origin,
        )
    if wanted and wanted.origin in precedence.ASKED:
        for name in sorted(wanted.value & features.SINGLE_CLIENT):
            raise errors.OptionError(
                keys.FEATURES,
                features.joined(wanted.value),
                phrases.Phrase(
                    'volumes of a multi-attach type can have several writing '
                    'clients, and {name} supports only one',
                    name=name,
                ),
                phrases.Phrase(
                    'features without {names}',
                    names=', '.join(sorted(features.SINGLE_CLIENT)),
                ),
                wanted.origin,
            )
    for key, choice in resolved.plain.items():
        option = registry.OPTIONS[key]
        if (
            option.shared_reason is not None
            and choice.origin in precedence.ASKED
            and choice.value != option.shared_value
        ):
            raise errors.OptionError(
                key,
                definitions.as_text(choice.value),
                option.shared_reason,
                definitions.as_text(option.shared_value),
                choice.origin,
            )


def shared(
    key: str, choice: precedence.Choice[Any] | None
) -> precedence.Choice[Any] | None:
    """Return the value of a key as a multi-attach type changes it."""
    option = registry.OPTIONS[key]
    if option.shared_reason is not None:
        return precedence.Choice(
            option.shared_value, precedence.Origin.VOLUME_TYPE
        )
    if key == keys.OBJECT_MAP:
        return precedence.Choice(False, precedence.Origin.VOLUME_TYPE)
    if key == keys.FEATURES and choice:
        return precedence.Choice(
            choice.value - features.SINGLE_CLIENT, choice.origin
        )
    return choice
