# SPDX-License-Identifier: Apache-2.0

"""The sector sizes of a volume's disk.

Partition tables, file systems and LUKS headers count in logical sectors. With
another logical sector size, a server does not find its data, and may offer to
format the disk. The sector size is therefore fixed at creation and recorded
with the volume (:attr:`.definitions.Kind.DISK`). A clone or a volume from a
snapshot has the sector size of its source, or none if its source has none.
"""

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


def connection_items(sector_size: str) -> dict[str, Any]:
    """Return the items of the connection; Nova expects texts."""
    logical, physical = _LOGICAL_AND_PHYSICAL[sector_size]
    return {
        wire.CONNECTION_LOGICAL_BLOCK_SIZE: logical,
        wire.CONNECTION_PHYSICAL_BLOCK_SIZE: physical,
    }


def check_bootable(sector_size: object, can_boot: object) -> None:
    """Check that servers can boot from a volume.

    SeaBIOS cannot boot from sectors of 4096 bytes. UEFI firmware can, from an
    image that was made for them.

    :param sector_size: of the volume; None if it has none of its own
    :param can_boot: the value of ``rbd:boot_from_4096``; None if it is unset
    :raises OptionError: if the volume type does not say that servers can
    """
    if sector_size == LARGE and not can_boot:
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
