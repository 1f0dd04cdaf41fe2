# SPDX-License-Identifier: Apache-2.0

"""Names that the services of OpenStack give to images and snapshots."""

import dataclasses
import enum
import re

from rbd_volume_options import image_handles

_UUID = r'[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'
_DELETED = re.escape(image_handles.DELETED_SOURCE)
_CLONE = re.escape(image_handles.CLONE_SNAPSHOT)
# Nova's disks, and no copies with a suffix of an administrator.
_DISK = r'_disk(?:\.(?:config|local|swap|eph\d+))?(?:\.rescue)?'


class Owner(enum.Enum):
    """The kind of resource that an image or a snapshot belongs to.

    :ivar pattern: of the name, with the ID of the resource as its group; None
        for an unknown name
    :ivar is_snapshot: whether it is the name of a snapshot
    :ivar recorded: attribute of :class:`~.records.Records` with the IDs of
        such resources, None if the service was not queried; empty for none
    """

    pattern: re.Pattern[str] | None
    is_snapshot: bool
    recorded: str

    def __new__(
        cls,
        word: str,
        pattern: str = '',
        recorded: str = '',
        is_snapshot: bool = False,
    ) -> 'Owner':
        """Return an owner, whose value is the word for it."""
        owner = object.__new__(cls)
        owner._value_ = word
        owner.pattern = re.compile(pattern) if pattern else None
        owner.recorded = recorded
        owner.is_snapshot = is_snapshot
        return owner

    VOLUME = 'volume', rf'volume-({_UUID})', 'volumes'
    #: The image of a source that was deleted before its clones.
    DELETED_SOURCE = 'deleted source', rf'volume-({_UUID}){_DELETED}'
    BACKUP_IMAGE = (
        'image of backups',
        rf'volume-({_UUID})\.backup\..+',
        'backed_up',
    )
    GLANCE_IMAGE = 'image of Glance', rf'({_UUID})', 'images'
    SERVER_DISK = 'server disk', rf'({_UUID}){_DISK}', 'servers'
    VOLUME_SNAPSHOT = (
        *('volume snapshot', rf'snapshot-({_UUID})', 'snapshots'),
        True,
    )
    CLONE = 'clone', rf'volume-({_UUID}){_CLONE}', '', True
    BACKUP = 'backup', rf'backup\.({_UUID})\.snap\.[\d.]+', 'backups', True
    UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Name:
    """A name that was parsed.

    :ivar ident: id of the resource in the name; empty for an unknown name
    """

    owner: Owner
    ident: str = ''


def of_image(name: str) -> Name:
    """Return the resource that an image belongs to, from its name."""
    return _parsed(name, is_snapshot=False)


def of_snapshot(name: str) -> Name:
    """Return the resource that a snapshot belongs to, from its name."""
    return _parsed(name, is_snapshot=True)


def pattern(name: str) -> str:
    """Return a name with its variable parts replaced, to count such names."""
    name = re.sub(_UUID, '<uuid>', name)
    return re.sub(r'[0-9a-f]{12,}|[0-9]+', '<n>', name)


def _parsed(name: str, is_snapshot: bool) -> Name:
    for owner in Owner:
        if owner.is_snapshot is is_snapshot and owner.pattern:
            match = owner.pattern.fullmatch(name)
            if match:
                return Name(owner, match[1])
    return Name(Owner.UNKNOWN)
