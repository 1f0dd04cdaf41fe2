# SPDX-License-Identifier: Apache-2.0

"""The options about the sectors of a disk.

Partition tables, file systems and LUKS headers count in logical sectors. With
another logical sector size, a server does not find its data, and may offer to
format the disk. The sector size is therefore fixed at creation and recorded
with the volume (:attr:`.definitions.Kind.DISK`). A clone or a volume from a
snapshot has the sector size of its source, or none if its source has none.
"""

from collections.abc import Mapping
import functools
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import phrases

#: The only size that not all firmware can boot from.
LARGE = '4096'

EXPLANATIONS = {
    '512': phrases.Phrase('sectors of 512 bytes'),
    '512e': phrases.Phrase(
        'sectors of 512 bytes on physical sectors of 4096 bytes'
    ),
    LARGE: phrases.Phrase('sectors of 4096 bytes'),
}

_LOGICAL_AND_PHYSICAL = {
    '512': ('512', '512'),
    '512e': ('512', '4096'),
    LARGE: ('4096', '4096'),
}

#: The sizes of Cinder's option ``disk_geometry``.
OF_DISK_GEOMETRY = {'512': '512', '512e': '512e', '4k': LARGE}

_ALLOWED = {
    '512': phrases.Phrase(
        'a volume with rbd:sector_size = 512 or 512e, or without it'
    ),
    LARGE: phrases.Phrase(
        'a volume that was created with rbd:sector_size = 4096'
    ),
}


def connection_items(sector_size: str) -> dict[str, Any]:
    """Return the items of the connection; Nova expects texts."""
    logical, physical = _LOGICAL_AND_PHYSICAL[sector_size]
    return {
        'logical_block_size': logical,
        'physical_block_size': physical,
    }


def _logical(disk: Mapping[str, Any]) -> str:
    """Return the logical sector size of a disk, which is 512 by default."""
    size = disk.get(keys.SECTOR_SIZE)
    return LARGE if size == LARGE else '512'


def check_leaves(disk: Mapping[str, Any]) -> None:
    """Check that another volume driver can have the data of a volume.

    Other drivers do not know the sector size of a volume: servers would see
    sectors of 512 bytes.

    :param disk: the recorded properties of the disk, by key
    :raises OptionError: for data that servers could not read there
    """
    if _logical(disk) == LARGE:
        raise errors.OptionError(
            keys.SECTOR_SIZE,
            LARGE,
            phrases.Phrase(
                'servers could not read the data on a back end that does not '
                'support RBD volume options'
            ),
            phrases.Phrase(
                'back ends that support them; for another back end, copy the '
                'files to a new volume, in a server that has both volumes'
            ),
        )


def check_stated(default: str, origin: errors.Origin) -> None:
    """Check a default that does not apply to an existing image.

    :raises OptionError: if the data were perhaps written for it
    """
    if default == LARGE:
        raise errors.OptionError(
            keys.SECTOR_SIZE,
            LARGE,
            phrases.Phrase(
                'an existing image may have been written for another sector '
                'size'
            ),
            phrases.Phrase(
                'rbd:sector_size in the metadata of the volume, with the '
                'sector size for which its data were written'
            ),
            origin,
        )


def check_receives(
    disk: Mapping[str, Any], written: Mapping[str, Any]
) -> None:
    """Check that servers can read data that a volume receives.

    :param disk: the properties of the disk of the volume, by key
    :param written: those of the disk for which the data was written
    :raises OptionError: if the logical sector sizes differ
    """
    if _logical(disk) != _logical(written):
        raise errors.OptionError(
            keys.SECTOR_SIZE,
            disk.get(keys.SECTOR_SIZE, 'none'),
            phrases.Phrase(
                'servers could not read the data, which was written for '
                'another sector size'
            ),
            _ALLOWED[_logical(written)],
        )


def check_bootable(values: Mapping[str, Any]) -> None:
    """Check that servers can boot from a volume.

    SeaBIOS cannot boot from sectors of 4096 bytes. UEFI firmware can, from an
    image that was made for them.

    :param values: the disk of the volume, and what the type or the back end
        says of servers, by key
    :raises OptionError: if they do not say that servers can
    """
    if _logical(values) == LARGE and not values.get(keys.BOOT_FROM_4096):
        raise errors.OptionError(
            keys.SECTOR_SIZE,
            LARGE,
            phrases.Phrase(
                'most servers cannot boot from sectors of 4096 bytes'
            ),
            phrases.Phrase(
                '512 or 512e for bootable volumes, unless their type has '
                'rbd:boot_from_4096 = true'
            ),
        )


Phrase = phrases.Phrase

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
            tuple(EXPLANATIONS),
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
        policy=definitions.Policy(
            'sector_size', 'Set the sector size of a volume'
        ),
        attribute=definitions.ATTRIBUTE_SECTOR_SIZE,
        inherited=True,
        connection_items=connection_items,
        choices=EXPLANATIONS,
        suggestions=tuple(EXPLANATIONS),
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
