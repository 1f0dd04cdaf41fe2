# SPDX-License-Identifier: Apache-2.0

"""The options about space that servers no longer use."""

import functools

from rbd_volume_options import definitions
from rbd_volume_options import discard_granularity
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import wire

Phrase = phrases.Phrase

SET_DISCARD = definitions.Policy(
    wire.POLICY_SET_DISCARD, 'Set or change whether a volume accepts discards'
)

SET_DISCARD_GRANULARITY = definitions.Policy(
    wire.POLICY_SET_DISCARD_GRANULARITY,
    'Set or change the discard granularity of a volume',
)

SET_DETECT_ZEROES = definitions.Policy(
    wire.POLICY_SET_DETECT_ZEROES,
    'Set or change how writes of zeros to a volume are treated',
)

_ZEROES = {
    'off': Phrase('zeros are written like other data'),
    'on': Phrase('zeros are not sent to the storage'),
    'unmap': Phrase('zeros free space, as discards do'),
}

OPTIONS = (
    definitions.Option(
        key=keys.DISCARD,
        kind=definitions.Kind.CONNECTION,
        value_type=definitions.ValueType.BOOLEAN,
        title=Phrase('Discard'),
        summary=Phrase('whether discards of the server free space'),
        description=(
            'Whether discards of the server (fstrim, TRIM) free space in '
            'the cluster. true by default. If false, they succeed and '
            'free nothing.'
        ),
        when_to_use=Phrase(
            'Leave the default. false keeps deleted data in the volume, '
            'so that writes do not allocate space again.'
        ),
        parse=functools.partial(features.parse_boolean, keys.DISCARD),
        conf_type='boolean value',
        conf_help=(
            'Whether discards of servers free space in the cluster, by '
            'default. The metadata and the type of a volume override it '
            'with rbd:discard. If unset, they do.'
        ),
        policy=SET_DISCARD,
        attribute=wire.ATTRIBUTE_DISCARD,
        fixed=False,
        takes_effect=Phrase('at the next attachment'),
        item=wire.CONNECTION_DISCARD,
        connection_items=lambda value: {wire.CONNECTION_DISCARD: value},
        bounds={'allowed': [False, True]},
        suggestions=('true', 'false'),
    ),
    definitions.Option(
        key=keys.DISCARD_GRANULARITY,
        kind=definitions.Kind.CONNECTION,
        value_type=definitions.ValueType.WORD,
        title=Phrase('Discard granularity'),
        summary=Phrase('smallest discard that the disk in the server reports'),
        description=(
            'Smallest discard that the disk in the server reports: layout '
            '(the smallest size that frees an object of the volume) or a '
            'power of two from 4 KiB to 1 GiB. Only on compute hosts with '
            'the Nova plug-in and libvirt 9.7 or later.'
        ),
        when_to_use=Phrase(
            'Leave the default, unless discards of the operating system '
            'fail: Windows 11 requires a larger one than the default. '
            'layout saves discards that free no object.'
        ),
        parse=discard_granularity.parse,
        conf_type='discard granularity',
        conf_help=(
            'Default discard granularity of the disks in servers: layout '
            '(the smallest size that frees an object of the volume) or a '
            'power of two from 4 KiB to 1 GiB. The metadata and the type '
            'of a volume override it with rbd:discard_granularity. '
            'Volumes with a granularity cannot be attached on compute hosts '
            'with an older libvirt than 9.7. If unset, QEMU decides.'
        ),
        policy=SET_DISCARD_GRANULARITY,
        attribute=wire.ATTRIBUTE_DISCARD_GRANULARITY,
        unset=Phrase('Default: set by QEMU'),
        fixed=False,
        takes_effect=Phrase('at the next attachment'),
        item=wire.CONNECTION_DISCARD_GRANULARITY,
        for_layout=discard_granularity.in_bytes,
        connection_items=lambda value: {
            wire.CONNECTION_DISCARD_GRANULARITY: value
        },
        requires=(
            'the Nova plug-in and libvirt '
            f'{discard_granularity.OLDEST_LIBVIRT}'
        ),
        choices=discard_granularity.EXPLANATIONS,
        suggestions=(discard_granularity.OF_LAYOUT, '32KiB', '4MiB'),
    ),
    definitions.Option(
        key=keys.DETECT_ZEROES,
        kind=definitions.Kind.CONNECTION,
        value_type=definitions.ValueType.WORD,
        title=Phrase('Detect zeroes'),
        summary=Phrase('how writes of zeros are treated'),
        description=(
            'Whether QEMU detects zeros in the writes of the server: off, '
            'on (they are not transferred to the storage) or unmap (they '
            'free space, as discards do; with rbd:discard = false, unmap '
            'acts as on). Only on compute hosts with the Nova plug-in.'
        ),
        when_to_use=Phrase(
            'Leave the default. unmap keeps a volume thin if images or '
            'backups with many zeros are written to it, and takes '
            'processor time of the compute host for each write.'
        ),
        parse=definitions.word_parser(
            keys.DETECT_ZEROES,
            Phrase('not a way to treat zeros'),
            tuple(_ZEROES),
        ),
        conf_type='treatment of zeros',
        conf_help=(
            'How writes of zeros by servers are treated, by default: off, '
            'on or unmap. The metadata and the type of a volume override '
            'it with rbd:detect_zeroes. With on and unmap, volumes cannot be '
            'attached on compute hosts without the Nova plug-in. If unset, '
            'zeros are written like other data.'
        ),
        policy=SET_DETECT_ZEROES,
        attribute=wire.ATTRIBUTE_DETECT_ZEROES,
        fixed=False,
        takes_effect=Phrase('at the next attachment'),
        item=wire.CONNECTION_DETECT_ZEROES,
        connection_items=lambda value: {wire.CONNECTION_DETECT_ZEROES: value},
        requires='the Nova plug-in',
        without_plug_in='off',
        choices=_ZEROES,
        suggestions=tuple(_ZEROES),
    ),
)
