# SPDX-License-Identifier: Apache-2.0

"""A program that compares the data of two images, or measures those of one.

It is run by its path, in a child process, with a JSON object of arguments:
``user``, ``cluster``, ``conf``, ``timeout``, ``images``: pool and name of
each, and ``with_parent``: whether the data of the parent of a single image
count. It prints the bytes of the objects of a single image.

In the comparison, the head and each snapshot are compared where one of the
images differs from its previous snapshot. Elsewhere both are equal to the
previous snapshot, which has been compared before. librbd is asked for the
exact differences, not for those in the object maps: a wrong map would hide
data from the copy and from the comparison.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from concurrent import futures
import contextlib
import json
import sys
from typing import Any

import rados
import rbd

# Bytes that are read at once. Smaller differences are read together.
_PIECE = 4 << 20
_AT_ONCE = 4
# Pieces whose comparison was requested and has not ended.
_WAITING = 64

#: The context of an image's pool, and its name.
Place = tuple[Any, str]


def snapshots_of(image: Any) -> list[str | None]:
    """Return the snapshots of an image, the oldest first, then its head."""
    return [*(each['name'] for each in image.list_snaps()), None]


def changed_pieces(image: Any, before: str | None) -> set[int]:
    """Return the pieces of an image that differ from an earlier snapshot.

    :param before: the snapshot; None for all data
    """
    pieces: set[int] = set()

    def add(offset: int, length: int, exists: bool) -> None:
        last = offset + length - 1
        pieces.update(range(offset // _PIECE, last // _PIECE + 1))

    image.diff_iterate(0, image.size(), before, add)
    return pieces


@contextlib.contextmanager
def opened(
    images: Iterable[Place], snapshot: str | None
) -> Iterator[list[Any]]:
    """Open images for reading, at a snapshot."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                rbd.Image(ioctx, name, snapshot=snapshot, read_only=True)
            )
            for ioctx, name in images
        ]


def differing_piece(
    source: Place, copy: Place
) -> tuple[str | None, int] | None:
    """Return the first difference of two images: snapshot and offset."""
    with opened((source,), None) as (image,):
        snapshots = snapshots_of(image)
    before = None
    for number, snapshot in enumerate(snapshots):
        with opened((source, copy), snapshot) as images:
            pieces: set[int] = set()
            for image in images:
                pieces |= changed_pieces(image, before)
            offset = _differing_offset(
                images, sorted(pieces), number, len(snapshots)
            )
        if offset is not None:
            return snapshot, offset
        before = snapshot
    return None


def _differing_offset(
    images: list[Any], pieces: list[int], number: int, count: int
) -> int | None:
    size = images[0].size()
    if images[1].size() != size:
        return min(int(size), int(images[1].size()))

    def differs(piece: int) -> bool:
        offset = piece * _PIECE
        length = min(_PIECE, size - offset)
        first, second = (image.read(offset, length) for image in images)
        return bool(first != second)

    def results(executor: futures.Executor) -> Iterator[bool]:
        # Each piece that waits takes memory, and an image can have millions.
        for begin in range(0, len(pieces), _WAITING):
            yield from executor.map(differs, pieces[begin : begin + _WAITING])

    shown = -1
    with futures.ThreadPoolExecutor(_AT_ONCE) as executor:
        for done, is_different in enumerate(results(executor)):
            if is_different:
                executor.shutdown(cancel_futures=True)
                return pieces[done] * _PIECE
            percent = (number * 100 + done * 100 // len(pieces)) // count
            if percent != shown:
                shown = percent
                sys.stdout.write(f'{percent}% complete\n')
                sys.stdout.flush()
    return None


def used(place: Place, with_parent: bool) -> int:
    """Return the bytes of the objects of an image and its snapshots."""
    ioctx, name = place
    lengths: list[int] = []

    def add(offset: int, length: int, exists: bool) -> None:
        if exists:
            lengths.append(length)

    with rbd.Image(ioctx, name, read_only=True) as image:
        before = None
        for snapshot in snapshots_of(image):
            image.set_snap(snapshot)
            image.diff_iterate(
                *(0, image.size(), before, add),
                include_parent=with_parent,
                whole_object=True,
            )
            before = snapshot
    return sum(lengths)


def main() -> None:
    """Read the images; exit with a message if two of them differ."""
    request = json.loads(sys.argv[1])
    client: Any = rados.Rados(
        rados_id=request['user'],
        clustername=request['cluster'],
        conffile=request['conf'],
        conf={
            'rados_osd_op_timeout': str(request['timeout']),
            'rbd_cache': 'false',
        },
    )
    # A limit of the volume would make the comparison take days. Ceph 16 does
    # not have the option.
    with contextlib.suppress(rados.Error):
        client.conf_set('rbd_qos_exclude_ops', 'read')
    with client, contextlib.ExitStack() as stack:
        first, *others = [
            (stack.enter_context(client.open_ioctx(pool)), name)
            for pool, name in request['images']
        ]
        if not others:
            sys.stdout.write(f'{used(first, request["with_parent"])}\n')
            return
        difference = differing_piece(first, *others)
    if difference is not None:
        snapshot, offset = difference
        place = f'snapshot {snapshot}' if snapshot else 'the image'
        sys.exit(f'The copy differs in {place}, at byte {offset}')


if __name__ == '__main__':
    main()
