# SPDX-License-Identifier: Apache-2.0

"""Names that the services of OpenStack give to images and snapshots."""

import dataclasses
import enum
import re

from rbd_volume_options import wire

_UUID = r'[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'
_DELETED = re.escape(wire.DELETED_SOURCE)
_CLONE = re.escape(wire.CLONE_SNAPSHOT)


class Owner(enum.Enum):
    """The kind of resource that an image or a snapshot belongs to."""

    VOLUME = 'volume'
    #: The image of a source that was deleted before its clones.
    DELETED_SOURCE = 'deleted source'
    BACKUP_IMAGE = 'image of backups'
    GLANCE_IMAGE = 'image of Glance'
    SERVER_DISK = 'server disk'
    VOLUME_SNAPSHOT = 'volume snapshot'
    CLONE = 'clone'
    BACKUP = 'backup'
    UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Name:
    """A name that was parsed.

    :ivar ident: id of the resource in the name; empty for an unknown name
    """

    owner: Owner
    ident: str = ''


_IMAGES = (
    (Owner.VOLUME, re.compile(f'volume-({_UUID})')),
    (Owner.DELETED_SOURCE, re.compile(f'volume-({_UUID}){_DELETED}')),
    (Owner.BACKUP_IMAGE, re.compile(rf'volume-({_UUID})\.backup\..+')),
    (Owner.GLANCE_IMAGE, re.compile(f'({_UUID})')),
    # Nova's disks, and no copies with a suffix of an administrator.
    (
        Owner.SERVER_DISK,
        re.compile(
            rf'({_UUID})_disk(?:\.(?:config|local|swap|eph\d+))?(?:\.rescue)?'
        ),
    ),
)
_SNAPSHOTS = (
    (Owner.VOLUME_SNAPSHOT, re.compile(f'snapshot-({_UUID})')),
    (Owner.CLONE, re.compile(f'volume-({_UUID}){_CLONE}')),
    (Owner.BACKUP, re.compile(rf'backup\.({_UUID})\.snap\.[\d.]+')),
)


def of_image(name: str) -> Name:
    """Return the resource that an image belongs to, from its name."""
    return _parsed(name, _IMAGES)


def of_snapshot(name: str) -> Name:
    """Return the resource that a snapshot belongs to, from its name."""
    return _parsed(name, _SNAPSHOTS)


def pattern(name: str) -> str:
    """Return a name with its variable parts replaced, to count such names."""
    name = re.sub(_UUID, '<uuid>', name)
    return re.sub(r'[0-9a-f]{12,}|[0-9]+', '<n>', name)


def _parsed(
    name: str, patterns: tuple[tuple[Owner, re.Pattern[str]], ...]
) -> Name:
    for owner, pattern in patterns:
        if match := pattern.fullmatch(name):
            return Name(owner, match[1])
    return Name(Owner.UNKNOWN)
