# SPDX-License-Identifier: Apache-2.0

"""The options about the sectors of a disk."""

import functools

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import sector_sizes
from rbd_volume_options import wire

Phrase = phrases.Phrase

SET_SECTOR_SIZE = definitions.Policy(
    wire.POLICY_SET_SECTOR_SIZE, 'Set the sector size of a volume'
)

OPTIONS = (
    definitions.Option(
        key=keys.SECTOR_SIZE,
        kind=definitions.Kind.DISK,
        value_type=definitions.ValueType.WORD,
        title=Phrase('Sector size'),
        summary=Phrase('sector size of the disk in the server'),
        description=(
            'Sector size of the disk in the server: 512, 512e (512 bytes '
            'on physical sectors of 4096 bytes) or 4096. A volume from a '
            'volume or a snapshot has that of its source.'
        ),
        when_to_use=Phrase(
            'Leave the default, unless the operating system or an '
            'application requires another one. With 512e, file systems '
            'and databases write whole blocks of 4096 bytes. 4096 is for '
            'data volumes only: most servers cannot boot from them.'
        ),
        parse=definitions.word_parser(
            keys.SECTOR_SIZE,
            Phrase('not a sector size'),
            tuple(sector_sizes.EXPLANATIONS),
        ),
        conf_type='sector size',
        conf_help=(
            'Default sector size of new volumes: 512, 512e or 4096. The '
            'metadata and the type of a volume override it with '
            'rbd:sector_size. It overrides disk_geometry. The value is '
            'recorded with each volume: a change applies to new volumes '
            'only. Volumes from volumes and snapshots have the sector '
            'size of their source. If unset, disk_geometry applies.'
        ),
        policy=SET_SECTOR_SIZE,
        attribute=wire.ATTRIBUTE_SECTOR_SIZE,
        inherited=True,
        connection_items=sector_sizes.connection_items,
        choices=sector_sizes.EXPLANATIONS,
        suggestions=tuple(sector_sizes.EXPLANATIONS),
    ),
    definitions.Option(
        key=keys.BOOT_FROM_4096,
        kind=definitions.Kind.FIRMWARE,
        value_type=definitions.ValueType.BOOLEAN,
        title=Phrase('Boot from 4096-byte sectors'),
        summary=Phrase('whether servers can boot from sectors of 4096 bytes'),
        description=(
            'In volume types only: whether the firmware and the images '
            'of servers support booting from sectors of 4096 bytes. '
            'Otherwise bootable volumes with rbd:sector_size = 4096 are '
            'refused.'
        ),
        parse=functools.partial(features.parse_boolean, keys.BOOT_FROM_4096),
        conf_type='boolean value',
        conf_help=(
            'Whether volumes with sectors of 4096 bytes may be bootable. '
            'A volume type overrides it with rbd:boot_from_4096. SeaBIOS '
            'cannot boot from them. UEFI firmware can, from an image that '
            'was made for sectors of 4096 bytes. If unset, such volumes '
            'are refused.'
        ),
        scopes=frozenset({keys.Scope.TYPE}),
        fixed=False,
        takes_effect=Phrase('at once'),
        suggestions=('true', 'false'),
    ),
)
