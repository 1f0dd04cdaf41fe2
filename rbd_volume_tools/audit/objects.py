# SPDX-License-Identifier: Apache-2.0

"""RADOS objects of RBD images, read without librbd.

librbd hides what is not in order: an image whose ID object is lost, an entry
of the trash that its Python binding does not know, data without a header.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import datetime
import enum
import re
import struct
import subprocess
import tempfile
import time
from typing import Any

from rbd_volume_options import ownership
from rbd_volume_options import trash_mark

_DIRECTORY = 'rbd_directory'
_TRASH = 'rbd_trash'
_PAGE = 1000
_HEADER = 'rbd_header.'
_DATA = re.compile(r'rbd_data\.(?:([0-9]+)\.)?([0-9a-f]+)\.[0-9a-f]{16}')


class TrashSource(enum.Enum):
    """The operation that moved an image to the trash."""

    USER = 0
    MIRRORING = 1
    MIGRATION = 2
    #: librbd moves an image here first when it removes it.
    REMOVING = 3
    USER_PARENT = 4
    UNKNOWN = -1


class TrashState(enum.Enum):
    """The operation on an entry of the trash that was begun last."""

    SETTLED = 0
    MOVING = 1
    #: A purge. librbd takes it up again.
    REMOVING = 2
    RESTORING = 3
    UNKNOWN = -1


@dataclasses.dataclass(frozen=True)
class Trashed:
    """An image in the trash of a pool.

    :ivar moved: the time when it was moved to the trash
    :ivar expires: the time until which it cannot be purged
    :ivar state: what librbd does with the entry
    :ivar mark: the mark of the driver, if it moved the image there and will
        remove it
    :ivar blocked: what the driver waits for, of :mod:`trash_mark`
    """

    pool: str
    name: str
    ident: str
    source: TrashSource
    moved: datetime.datetime
    expires: datetime.datetime
    state: TrashState = TrashState.SETTLED
    mark: trash_mark.Mark | None = None
    blocked: str = ''

    @property
    def is_damaged(self) -> bool:
        """Whether the entry could not be decoded."""
        return self.state is TrashState.UNKNOWN and not self.name

    @property
    def is_settled(self) -> bool:
        """Whether no operation is in progress, or was interrupted."""
        return self.state is TrashState.SETTLED


def trash(librados: Any, ioctx: Any, pool: str) -> list[Trashed]:
    """Return all entries of the trash of a pool.

    The binding of Ceph 16 lists neither interrupted removals nor, behind the
    source of a migration, any other entry.
    """
    entries = []
    for key, value in _omap(librados, ioctx, _TRASH, 'id_'):
        ident = key.removeprefix('id_')
        try:
            entry = _trashed(pool, ident, value)
            if entry.source is TrashSource.USER:
                mark, blocked = trash_mark.read(librados, ioctx, ident)
                if mark and mark.is_of_move(entry.moved):
                    entry = dataclasses.replace(
                        entry, mark=mark, blocked=blocked
                    )
            entries.append(entry)
        except ValueError:
            never = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
            unknown = TrashSource.UNKNOWN, never, never, TrashState.UNKNOWN
            entries.append(Trashed(pool, '', ident, *unknown))
    return entries


def trash_entry(
    librados: Any, ioctx: Any, pool: str, ident: str
) -> Trashed | None:
    """Return the entry of an image in the trash of a pool."""
    with librados.ReadOpCtx() as operation:
        values, _ = ioctx.get_omap_vals_by_keys(operation, (f'id_{ident}',))
        try:
            ioctx.operate_read_op(operation, _TRASH)
        except librados.ObjectNotFound:
            return None
        for _, value in values:
            return _trashed(pool, ident, value or b'')
    return None


def _trashed(pool: str, ident: str, value: bytes) -> Trashed:
    """Decode an entry; newer versions append fields, which are ignored.

    :raises ValueError: if it is damaged, as any client of the pool can do
    """
    try:
        # Version, compatible version and length; then the fields.
        source = value[6]
        name = ownership.decoded(value[7:])
        at = 11 + len(name.encode())
        moved, _, expires, _ = struct.unpack_from('<IIII', value, at)
        # Ceph's TrashImageSpec has the state since version 2, of Mimic.
        state = value[at + 16] if value[0] > 1 else TrashState.SETTLED.value
    except (IndexError, ValueError, struct.error) as error:
        raise ValueError(
            f'Entry id_{ident} of {_TRASH} in pool {pool} is damaged: {error}'
        ) from error
    sources = {each.value: each for each in TrashSource}
    states = {each.value: each for each in TrashState}
    return Trashed(
        pool,
        name,
        ident,
        sources.get(source, TrashSource.UNKNOWN),
        datetime.datetime.fromtimestamp(moved, datetime.timezone.utc),
        datetime.datetime.fromtimestamp(expires, datetime.timezone.utc),
        states.get(state, TrashState.UNKNOWN),
    )


def directory(librados: Any, ioctx: Any) -> dict[str, str]:
    """Return the id of each image in the directory of a pool, by its name.

    Bytes that are not UTF-8 are surrogates, as in names of files.
    """
    try:
        return {
            key.removeprefix('name_'): _ident(value)
            for key, value in _omap(librados, ioctx, _DIRECTORY, 'name_')
        }
    except UnicodeDecodeError:
        # The Python binding decodes keys, and no values.
        return {
            value[4:].decode(errors='surrogateescape'): key.removeprefix('id_')
            for key, value in _omap(librados, ioctx, _DIRECTORY, 'id_')
        }


def _ident(value: bytes) -> str:
    """Return the id in an entry; empty if the entry is damaged."""
    try:
        return ownership.decoded(value)
    except ValueError:
        return ''


def _omap(
    librados: Any, ioctx: Any, key: str, prefix: str
) -> Iterator[tuple[str, bytes]]:
    after = ''
    while True:
        with librados.ReadOpCtx() as operation:
            values, _ = ioctx.get_omap_vals(operation, after, prefix, _PAGE)
            try:
                ioctx.operate_read_op(operation, key)
            except librados.ObjectNotFound:
                return
            # The binding has None for an empty value.
            page = [(item, value or b'') for item, value in values]
        yield from page
        if len(page) < _PAGE or page[-1][0] <= after:
            return
        after = page[-1][0]


def id_of(librados: Any, ioctx: Any, name: str) -> tuple[str, int] | None:
    """Return the id in the ID object of an image, and the object's version.

    None if there is no such object, or it is damaged.
    """
    try:
        content = ioctx.read(f'rbd_id.{name}')
        # The object is empty if its creation was interrupted.
        ident = ownership.decoded(content) if content else ''
    except (librados.ObjectNotFound, ValueError):
        return None
    return ident, ioctx.get_last_version()


def named_at(librados: Any, ioctx: Any, name: str) -> datetime.datetime | None:
    """Return when an image got its name; None without an ID object.

    librbd writes the object when it creates, renames or restores an image.
    """
    try:
        _, modified = ioctx.stat(f'rbd_id.{name}')
    except librados.ObjectNotFound:
        return None
    return datetime.datetime.fromtimestamp(
        time.mktime(modified), datetime.timezone.utc
    )


def has_header(librados: Any, ioctx: Any, ident: str) -> bool:
    """Return whether an image has a header."""
    try:
        ioctx.stat(f'{_HEADER}{ident}')
    except librados.ObjectNotFound:
        return False
    return True


def is_gone(
    librados: Any, ioctx: Any, pool: str, name: str, ident: str
) -> bool:
    """Return whether an image has neither a name, a header nor an entry.

    librbd reports the absence of an image also for one that lacks something
    else, such as a snapshot or its parent.

    :param name: of the image, or of its snapshot
    """
    return not (
        has_header(librados, ioctx, ident)
        or trash_entry(librados, ioctx, pool, ident)
        or directory(librados, ioctx).get(name.partition('@')[0]) == ident
    )


def forget_name(librados: Any, ioctx: Any, name: str, ident: str) -> None:
    """Remove the name of an image, unless it belongs to another image now.

    The ID object goes first. A kill in between leaves the entry in the
    directory, which a repetition removes.
    """
    stored = id_of(librados, ioctx, name)
    if stored and stored[0] == ident:
        with librados.WriteOpCtx() as operation:
            operation.assert_version(stored[1])
            operation.remove()
            ioctx.operate_write_op(operation, f'rbd_id.{name}')
    # The class refuses a name and an id that do not belong together.
    data = ownership.encoded(name) + ownership.encoded(ident)
    ioctx.execute(_DIRECTORY, 'rbd', 'dir_remove_image', data)


@dataclasses.dataclass
class Inventory:
    """The objects of the images of all pools that were listed.

    :ivar headers: pools' and images' ids
    :ivar data: number of data objects by the ids of pool (of the header) and
        image
    :ivar unlisted: why a pool could not be listed to its end, by its name.
        Then, the absence of an object shows nothing. Pools of other
        applications, such as ``.mgr``, are left out.
    """

    headers: set[tuple[int, str]] = dataclasses.field(default_factory=set)
    data: dict[tuple[int, str], int] = dataclasses.field(default_factory=dict)
    unlisted: dict[str, str] = dataclasses.field(default_factory=dict)

    def without_header(self) -> dict[tuple[int, str], int]:
        """Return the number of data objects of images without a header."""
        return {
            place: number
            for place, number in self.data.items()
            if place not in self.headers
        }


def inventory(
    connection: Any,
    program: Sequence[str],
    progress: Callable[[str, int], None] = lambda pool, number: None,
    per_second: int | None = None,
) -> Inventory:
    """List all objects of all pools; this reads names, and no data.

    The data of an image may be in any pool. The program of Ceph lists them,
    because the Python binding takes each error for the end of the list.

    :param program: ``rados`` with the options of the connection
    :param progress: called with a pool and the number of objects so far
    :param per_second: maximum number of objects; None for no limit
    """
    listed = Inventory()
    for pool in sorted(connection.list_pools()):
        ioctx = connection.open_ioctx(pool)
        try:
            here = ioctx.get_pool_id()
            applications = ioctx.application_list()
        finally:
            ioctx.close()
        began = time.monotonic()
        try:
            for number, key in enumerate(_keys([*program, '-p', pool]), 1):
                _add(listed, here, key)
                if number % _PAGE == 0:
                    progress(pool, number)
                    if per_second:
                        ahead = number / per_second - time.monotonic() + began
                        time.sleep(max(0.0, ahead))
        except NotListed as error:
            if not applications or 'rbd' in applications:
                listed.unlisted[pool] = str(error)
    return listed


class NotListed(Exception):
    """A list of objects is not complete."""


def _keys(program: list[str]) -> Iterator[str]:
    """Yield the names of the objects of a pool.

    :raises NotListed: unless the program has listed all of them
    """
    with tempfile.TemporaryFile() as messages:
        try:
            process = subprocess.Popen(
                [*program, 'ls'], stdout=subprocess.PIPE, stderr=messages
            )
        except OSError as error:
            raise NotListed(f'{error}. Install ceph-common.') from error
        with process:
            try:
                for line in process.stdout or ():
                    yield line.rstrip(b'\n').decode(errors='replace')
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            messages.seek(0)
            text = messages.read().decode(errors='replace').strip()
            last = text.splitlines()[-1:] or ['no message']
            raise NotListed(
                f'rados ls ended with status {process.returncode}: {last[0]}'
            )


def _add(listed: Inventory, pool_id: int, key: str) -> None:
    if key.startswith(_HEADER):
        listed.headers.add((pool_id, key.removeprefix(_HEADER)))
    elif match := _DATA.fullmatch(key):
        place = (int(match[1] or pool_id), match[2])
        listed.data[place] = listed.data.get(place, 0) + 1
