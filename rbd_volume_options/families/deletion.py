# SPDX-License-Identifier: Apache-2.0

"""The option about deleted volumes."""

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import sizes

Phrase = phrases.Phrase

# Ceph has 32 bits for the time until which an image stays in the trash.
_MOST = 10 * 365 * 24


def _hours(value: str) -> int:
    hours = sizes.parse_count(keys.KEEP_DELETED, value)
    if hours > _MOST:
        raise errors.OptionError(
            keys.KEEP_DELETED,
            value,
            Phrase('out of range'),
            Phrase('1 to {maximum}', maximum=_MOST),
        )
    return hours


OPTIONS = (
    definitions.Option(
        key=keys.KEEP_DELETED,
        kind=definitions.Kind.DELETION,
        value_type=definitions.ValueType.COUNT,
        title=Phrase('Keep deleted volumes'),
        summary=Phrase('hours for which deleted volumes can be restored'),
        description=(
            'In volume types only: the hours for which the images of deleted '
            'volumes stay in the trash, so that an operator can restore them. '
            'They use space in the pool until then, and count for no quota. '
            'Encrypted volumes, and volumes with clones, are not kept.'
        ),
        when_to_use=Phrase(
            'A day or a week for volumes that are deleted by mistake. The '
            'pool needs the space for all volumes that are deleted in this '
            'time.'
        ),
        parse=_hours,
        conf_type='count',
        scopes=frozenset({keys.Scope.TYPE}),
        fixed=False,
        takes_effect=Phrase('for volumes that are deleted afterwards'),
        bounds={'minimum': 1, 'maximum': _MOST},
        suggestions=('24', '168'),
    ),
)
