# SPDX-License-Identifier: Apache-2.0

"""The sector sizes of a volume's disk.

Partition tables, file systems and LUKS headers count in logical sectors. With
another logical sector size, a server does not find its data, and may offer to
format the disk. The sector size is therefore fixed at creation and recorded
with the volume (:attr:`.definitions.Kind.DISK`). A clone or a volume from a
snapshot has the sector size of its source, or none if its source has none.
"""

from collections.abc import Mapping
from typing import Any

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import wire

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
        wire.CONNECTION_LOGICAL_BLOCK_SIZE: logical,
        wire.CONNECTION_PHYSICAL_BLOCK_SIZE: physical,
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


def check_bootable(
    disk: Mapping[str, Any], firmware: Mapping[str, Any]
) -> None:
    """Check that servers can boot from a volume.

    SeaBIOS cannot boot from sectors of 4096 bytes. UEFI firmware can, from an
    image that was made for them.

    :param disk: the properties of the disk of the volume, by key
    :param firmware: what the type or the back end says of servers, by key
    :raises OptionError: if they do not say that servers can
    """
    if _logical(disk) == LARGE and not firmware.get(keys.BOOT_FROM_4096):
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
