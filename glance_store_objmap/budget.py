# SPDX-License-Identifier: Apache-2.0

"""The memory that all uploads of this process hold."""

from collections.abc import Iterator
import contextlib
import threading

from glance_store_objmap import hashing
from glance_store_objmap import pieces
from rbd_volume_options import sizes

#: Size of the smallest pieces, in bytes. Smaller writes are slow.
MIN_PIECE = 256 * sizes.KIB

#: A piece is in memory twice while it is read: its parts and the whole.
READING = 2

#: Number of pieces that a hash can be behind.
HASHING = hashing.BACKLOG + 1


class Share:
    """The share of one upload in a :class:`Budget`.

    :ivar depth: how many writes may be in flight
    """

    def __init__(
        self, budget: 'Budget', limit: int, largest: int, depth: int
    ) -> None:
        self.depth = depth
        self.reserved = 0
        self.limit = limit
        self._budget = budget
        self._largest = largest
        self._deepest = depth

    def next_size(self, held: int, start: int) -> int:
        """Return the size of the next piece, and reserve its memory.

        :param held: size of the pieces in memory, in bytes
        :param start: offset of the piece in the image
        :returns: a power of two that divides ``start``, so that objects
            consist of whole pieces
        """
        with self._budget.lock:
            fair, free = self._budget.available(self)
            wanted = min(
                self._largest,
                fair // (max(self._deepest, HASHING) + READING),
                (free - held) // READING,
            )
            size = max(pieces.power_of_two(wanted), MIN_PIECE)
            if start:
                size = min(size, start & -start)
            self.depth = min(self._deepest, max(1, fair // size - READING))
            self.reserved = held + READING * size
        return size


class Budget:
    """Divides memory between the uploads of a process.

    Each upload gets an equal share and reserves the part that it needs. The
    sizes of pieces and the number of writes in flight depend on the share, so
    that an upload never waits for another one, which may have a slow client.
    Therefore each upload may have pieces of :data:`MIN_PIECE`, even if the
    budget is used up.

    :ivar lock: protects the reservations
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._shares: list[Share] = []

    @contextlib.contextmanager
    def share(self, limit: int, largest: int, depth: int) -> Iterator[Share]:
        """Give an upload its share while it runs.

        :param limit: memory of all uploads, in bytes
        :param largest: size of the largest pieces, in bytes; a power of two
        :param depth: maximum number of writes in flight
        """
        share = Share(self, limit, largest, depth)
        with self.lock:
            self._shares.append(share)
        try:
            yield share
        finally:
            with self.lock:
                self._shares.remove(share)

    def available(self, share: Share) -> tuple[int, int]:
        """Return the fair and the largest possible reservation of a share.

        The caller holds the lock.
        """
        others = sum(s.reserved for s in self._shares if s is not share)
        return share.limit // len(self._shares), share.limit - others

    def reserved(self) -> int:
        """Return what all uploads have reserved, in bytes."""
        with self.lock:
            return sum(share.reserved for share in self._shares)


#: The budget of this process, for the uploads of all of its stores.
UPLOADS = Budget()
