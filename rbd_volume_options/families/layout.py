# SPDX-License-Identifier: Apache-2.0

"""The options about the layout of an image."""

from collections.abc import Sequence
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import phrases
from rbd_volume_options import sizes

Phrase = phrases.Phrase

SET_LAYOUT = definitions.Policy('layout', 'Set the layout of a volume')


def _size_bounds(smallest: int) -> dict[str, Any]:
    return {
        'power_of_two': True,
        'minimum': smallest,
        'maximum': layout.MAX_OBJECT_SIZE,
    }


def _object_size_bounds(
    backends: Sequence[operator_limits.Limits], multiattach: bool
) -> dict[str, Any]:
    return {
        'minimum': max(limits.min_object_size for limits in backends),
        'maximum_objects': min(limits.max_objects for limits in backends),
    }


def _stripe_count_bounds(
    backends: Sequence[operator_limits.Limits], multiattach: bool
) -> dict[str, Any]:
    return {'maximum': min(limits.max_stripe_count for limits in backends)}


OPTIONS = (
    definitions.Option(
        key=keys.OBJECT_SIZE,
        kind=definitions.Kind.LAYOUT,
        value_type=definitions.ValueType.SIZE,
        title=Phrase('Object size'),
        summary=Phrase('size of the RADOS objects'),
        description=(
            'Size of the RADOS objects: a power of two from 4 KiB to 32 '
            'MiB, in bytes or with a unit (64K, 4M).'
        ),
        when_to_use=Phrase(
            'The volume is stored in objects of this size. Leave the '
            'default, unless clones of the volume change in small '
            'scattered parts: smaller objects then copy less. Larger '
            'objects were not faster in tests.'
        ),
        parse=layout.parse_object_size,
        conf_type='size in bytes',
        conf_help=(
            'Default size of the RADOS objects of volumes, such as 4M. '
            'The metadata and the type of a volume override it with '
            'rbd:object_size. A power of two from 4 KiB to 32 MiB, in '
            'bytes or with a unit. If unset, rbd_store_chunk_size applies.'
        ),
        policy=SET_LAYOUT,
        attribute=definitions.ATTRIBUTE_OBJECT_SIZE,
        inherited=True,
        bounds=_size_bounds(layout.MIN_OBJECT_SIZE),
        narrowed=_object_size_bounds,
        suggestions=definitions.powers(64 * sizes.KIB, layout.MAX_OBJECT_SIZE),
        # A size, but not a power of two.
        invalid='3',
    ),
    definitions.Option(
        key=keys.STRIPE_UNIT,
        kind=definitions.Kind.LAYOUT,
        value_type=definitions.ValueType.SIZE,
        title=Phrase('Stripe unit'),
        summary=Phrase('contiguous bytes of a stripe in one object'),
        description=(
            'Contiguous bytes of a stripe in one object: a factor of the '
            'object size, at least 512 bytes, such as 64K. Requires a '
            'stripe count.'
        ),
        when_to_use=Phrase(
            'Contiguous bytes that go to one object before the next '
            'one. Leave the default, unless an application writes many '
            'small blocks in sequence and does not wait for each, such '
            'as the log of a database, and the cluster has many disks. '
            'Other requests become slower: 64 KiB × 8 reached 40 to 74 '
            'percent of the default in tests.'
        ),
        parse=layout.parse_stripe_unit,
        conf_type='size in bytes',
        conf_help=(
            'Default stripe unit of volumes, such as 64K. The metadata '
            'and the type of a volume override it with rbd:stripe_unit. A '
            'factor of the object size, at least 512 bytes. Requires '
            'rbd_volume_stripe_count. If unset, rbd_default_stripe_unit '
            'of ceph.conf or of the pool applies.'
        ),
        policy=SET_LAYOUT,
        attribute=definitions.ATTRIBUTE_STRIPE_UNIT,
        partner=keys.STRIPE_COUNT,
        family='striping',
        inherited=True,
        bounds={
            **_size_bounds(layout.MIN_STRIPE_UNIT),
            'together_with': [keys.STRIPE_COUNT],
        },
        suggestions=definitions.powers(4 * sizes.KIB, 4 * sizes.MIB),
        invalid='3',
    ),
    definitions.Option(
        key=keys.STRIPE_COUNT,
        kind=definitions.Kind.LAYOUT,
        value_type=definitions.ValueType.COUNT,
        title=Phrase('Stripe count'),
        summary=Phrase('number of objects in a stripe'),
        description=(
            'Number of objects in a stripe: a whole number from 1 to the '
            'maximum of the back end. Requires a stripe unit.'
        ),
        when_to_use=Phrase(
            'Number of objects that receive stripe units in turn: about'
            ' the number of disks that share the load, often 8 to 16.'
        ),
        parse=layout.parse_stripe_count,
        conf_type='count',
        conf_help=(
            'Default stripe count of volumes. The metadata and the type '
            'of a volume override it with rbd:stripe_count. Requires '
            'rbd_volume_stripe_unit.'
        ),
        policy=SET_LAYOUT,
        attribute=definitions.ATTRIBUTE_STRIPE_COUNT,
        partner=keys.STRIPE_UNIT,
        family='striping',
        inherited=True,
        bounds={'minimum': 1, 'together_with': [keys.STRIPE_UNIT]},
        narrowed=_stripe_count_bounds,
        suggestions=tuple(str(2**n) for n in range(7)),
    ),
)
