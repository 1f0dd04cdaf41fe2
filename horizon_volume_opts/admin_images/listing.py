# SPDX-License-Identifier: Apache-2.0

"""The list of all RBD images, and its cache.

A listing can be continued, so that a large cloud is read in steps. The cache
holds it in compressed parts, because memcached limits the size of a value to
1 MiB.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from django.core import cache

from horizon_volume_opts import compression
from horizon_volume_opts.admin_images import images

#: Seconds for which a listing is cached.
CACHED = 300
# Number of volumes in a part; about 50 KB after compression.
_PART = 1000


@dataclasses.dataclass
class Listing:
    """The images that were read so far.

    :ivar taken: time when reading started, in ISO 8601 with a time zone
    :ivar complete: whether all volumes were read
    :ivar markers: IDs of volumes to continue after, the last one is tried
        first; the others are used if it was deleted
    :ivar rows: the image of each volume by ID; None for a volume that is not
        an RBD image or is not created yet
    :ivar projects: names of projects by ID
    :ivar audited: time of the audit whose findings are included; empty if
        there is none
    :ivar is_audit_unreadable: whether the report of an audit cannot be read
    :ivar image_ids: IDs in the names of the images of migrated volumes, which
        are not those of the volumes
    :ivar other_findings: findings that are not about an image of the list
    """

    taken: str
    complete: bool = False
    markers: list[str] = dataclasses.field(default_factory=list)
    rows: dict[str, images.Image | None] = dataclasses.field(
        default_factory=dict
    )
    projects: Mapping[str, str] = dataclasses.field(default_factory=dict)
    audited: str = ''
    is_audit_unreadable: bool = False
    image_ids: list[str] = dataclasses.field(default_factory=list)
    other_findings: list[dict[str, str]] = dataclasses.field(
        default_factory=list
    )

    @property
    def rbd_images(self) -> list[images.Image]:
        """The RBD images."""
        return [each for each in self.rows.values() if each]

    @property
    def others(self) -> int:
        """Number of volumes that are not RBD images or not created yet."""
        return sum(each is None for each in self.rows.values())

    def add(self, page: Iterable[tuple[str, images.Image | None]]) -> None:
        """Add volumes; replace those that were read before."""
        self.rows.update(page)


def store(key: str, listed: Listing) -> None:
    """Put a listing into the cache."""
    rows = [
        [ident, image and image.plain()]
        for ident, image in listed.rows.items()
    ]
    others = listed.other_findings
    head = {
        field.name: getattr(listed, field.name)
        for field in dataclasses.fields(listed)
        if field.name not in ('rows', 'other_findings')
    }
    numbers = [len(rows), len(others)]
    parts = dict(
        zip(
            _names(key, numbers),
            (
                compression.pack(each)
                for each in (*_parts(rows), *_parts(others))
            ),
            strict=True,
        )
    )
    cache.cache.set_many(
        {key: compression.pack([head, numbers]), **parts}, CACHED
    )


def load(key: str) -> Listing | None:
    """Return the listing from the cache; None if a part is missing."""
    packed = cache.cache.get(key)
    if packed is None:
        return None
    head, numbers = compression.unpack(packed)
    names = _names(key, numbers)
    parts = cache.cache.get_many(names)
    if len(parts) < len(names):
        return None
    listed = Listing(**head)
    values = [
        each for name in names for each in compression.unpack(parts[name])
    ]
    listed.add(
        (ident, plain and images.Image.of_plain(plain))
        for ident, plain in values[: numbers[0]]
    )
    listed.other_findings = values[numbers[0] :]
    return listed


def _names(key: str, numbers: list[int]) -> list[str]:
    """Return the keys of the parts, first those of the rows."""
    return [
        f'{key}:{kind}:{start}'
        for kind, number in zip(('rows', 'findings'), numbers, strict=True)
        for start in range(0, number, _PART)
    ]


def _parts(values: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(values), _PART):
        yield values[start : start + _PART]


def forget(key: str) -> None:
    """Remove a listing from the cache."""
    cache.cache.delete(key)
