# SPDX-License-Identifier: Apache-2.0

"""Rules for the retype of a volume in a given state."""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import sizes
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import outcomes

#: Status of a volume in a retype.
_RETYPING = 'retyping'

#: Keys and the attributes that show what an image has.
_ATTRIBUTES = {
    keys.OBJECT_SIZE: definitions.ATTRIBUTE_OBJECT_SIZE,
    keys.STRIPE_UNIT: definitions.ATTRIBUTE_STRIPE_UNIT,
    keys.STRIPE_COUNT: definitions.ATTRIBUTE_STRIPE_COUNT,
    keys.OBJECT_MAP: definitions.ATTRIBUTE_FEATURES,
    keys.FEATURES: definitions.ATTRIBUTE_FEATURES,
    keys.DATA_POOL: definitions.ATTRIBUTE_DATA_POOL,
}
#: Statuses in which Cinder accepts a retype. For an attached volume, the API
#: extension refuses a change of more than the image features.
_READY = frozenset({'available', 'in-use'})

BUSY = outcomes.Reason(
    'busy',
    'the status of the volume does not allow a retype',
    'Run the command again when the volume is available.',
)
OTHER_TYPE = outcomes.Reason(
    'other-type',
    'the volume has another type',
    'Name this type with --from.',
)
BY_CINDER = outcomes.Reason(
    'refused-by-cinder',
    'Cinder refuses the retype',
    'Correct what the message names, and run the command again.',
)
NOT_CONVERTED = outcomes.Reason(
    'not-converted',
    'Ceph does not convert the RBD image',
    'Remove the obstacle, or use --migration-policy on-demand.',
)


def is_running(volume: records.Volume) -> bool:
    """Return whether a volume is being retyped or migrated."""
    return volume.status == _RETYPING or volume.migrating


def percent(volume: records.Volume) -> int | None:
    """Return the progress of a conversion; None if it is unknown."""
    number: int | None = _conversion(volume).get('percent')
    return number


def unset(
    former: Mapping[str, str], target: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the keys that only the former type sets.

    :param former: extra specs of the former type
    :param target: extra specs of the new type
    """
    return tuple(
        key for key in _ATTRIBUTES if key in former and key not in target
    )


def kept(
    unset_keys: Iterable[str], before: records.Volume, after: records.Volume
) -> str:
    """Return what a volume keeps although its new type does not set it.

    :param unset_keys: the keys that only the former type sets
    """
    attributes = {_ATTRIBUTES[key] for key in unset_keys}
    parts = [
        f'{name.partition(":")[2]} = {_shown(name, after.made[name])}'
        for name in sorted(attributes & before.made.keys())
        if before.made[name] == after.made.get(name)
    ]
    return f'keeps {", ".join(parts)}' if parts else ''


def _shown(attribute: str, value: Any) -> str:
    if attribute in (
        definitions.ATTRIBUTE_OBJECT_SIZE,
        definitions.ATTRIBUTE_STRIPE_UNIT,
    ):
        return sizes.format_size(value)
    if attribute == definitions.ATTRIBUTE_FEATURES:
        return features.joined(value)
    return str(value)


def check(volume: records.Volume, former: str) -> None:
    """Check whether the retype of a volume can be requested.

    :param former: name of the former type
    :raises Refused: if it cannot be requested
    """
    if volume.volume_type != former:
        raise outcomes.Refused(OTHER_TYPE, volume.volume_type or 'none')
    if volume.status not in _READY:
        raise outcomes.Refused(BUSY, volume.status)


def unchanged(volume: records.Volume) -> Exception:
    """Return the error of a retype that did not change the type."""
    reason = _conversion(volume).get('reason')
    if reason:
        return outcomes.Refused(NOT_CONVERTED, reason)
    return outcomes.NotVerified(
        f'Cinder did not change the type; status {volume.status}',
        'See the logs of cinder-scheduler and cinder-volume, and openstack '
        'volume message list.',
    )


def stalled(seconds: float) -> outcomes.NotVerified:
    """Return the error of a retype that shows no progress."""
    return outcomes.NotVerified(
        f'no progress for {seconds / 60:g} minutes',
        'See the log of cinder-volume. Cinder may still complete it.',
    )


def _conversion(volume: records.Volume) -> dict[str, Any]:
    shown: dict[str, Any] = (
        volume.made.get(image_record.ATTRIBUTE_CONVERSION) or {}
    )
    return shown
