# SPDX-License-Identifier: Apache-2.0

"""The memory budget for all uploads of a process."""

import contextlib
import random

import ddt

from glance_store_objmap import budget
from glance_store_objmap import hashing
from tests.unit import base

KIB = 1 << 10
MIB = 1 << 20


class _Upload:
    """An upload that keeps its pieces in memory as long as possible."""

    def __init__(self, share: budget.Share) -> None:
        self.share = share
        self.held: list[int] = []
        self.sizes: list[int] = []

    def read(self) -> int:
        """Read a piece and return the memory in use."""
        start = sum(self.sizes)
        size = self.share.next_size(sum(self.held), start)
        self.sizes.append(size)
        memory = sum(self.held) + budget.READING * size
        self.held.append(size)
        return memory

    def finish(self) -> None:
        """Release the oldest pieces above the depth and the backlog."""
        most = max(self.share.depth, hashing.BACKLOG + 1)
        while len(self.held) > most:
            self.held.pop(0)


@ddt.ddt
class BudgetTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.budget = budget.Budget()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def _begin(
        self, limit: int = 256 * MIB, largest: int = 4 * MIB, depth: int = 4
    ) -> _Upload:
        share = self.budget.share(limit, largest, depth)
        return _Upload(self.stack.enter_context(share))

    @ddt.data((1, 4 * MIB), (10, 4 * MIB), (11, 2 * MIB), (32, MIB))
    @ddt.unpack
    def test_equal_shares(self, count: int, expected: int) -> None:
        uploads = [self._begin() for _ in range(count)]
        for _ in range(12):
            for upload in uploads:
                upload.read()
                upload.finish()
        self.assertEqual({expected}, {u.sizes[-1] for u in uploads})
        self.assertEqual({4}, {u.share.depth for u in uploads})

    @ddt.data(*range(8))
    def test_random_uploads_never_exceed_the_budget(self, seed: int) -> None:
        """Uploads begin, continue, stall and end at random."""
        chance = random.Random(seed)
        limit = 64 * MIB
        most = chance.choice((3, 20, 40))
        running: list[tuple[_Upload, contextlib.ExitStack]] = []
        memory: dict[int, int] = {}
        for _ in range(2000):
            if len(running) < most and chance.random() < 0.1:
                with contextlib.ExitStack() as stack:
                    share = stack.enter_context(
                        self.budget.share(
                            limit, 4 * MIB, chance.choice((1, 4, 64))
                        )
                    )
                    running.append((_Upload(share), stack.pop_all()))
            elif running and chance.random() < 0.02:
                upload, stack = running.pop(chance.randrange(len(running)))
                memory.pop(id(upload), None)
                stack.close()
            elif running:
                upload, _ = chance.choice(running)
                memory[id(upload)] = upload.read()
                upload.finish()
                # Uploads may begin after others have used up the budget.
                least = budget.HASHING + budget.READING
                over = most * least * budget.MIN_PIECE
                self.assertLessEqual(sum(memory.values()), limit + over)
        for _, stack in running:
            stack.close()
        self.assertEqual(0, self.budget.reserved())

    def test_limit_with_stalled_uploads(self) -> None:
        """Memory that stalled uploads hold is not assigned to others."""
        stalled = [self._begin() for _ in range(10)]
        for _ in range(8):
            for upload in stalled:
                upload.read()
                upload.finish()
        before = self.budget.reserved()
        self.assertGreater(before, 200 * MIB)
        late = [self._begin() for _ in range(22)]
        for _ in range(8):
            for upload in late:
                upload.read()
                upload.finish()
        # The limit and the smallest pieces of 32 uploads.
        self.assertLessEqual(self.budget.reserved(), (256 + 32) * MIB)

    def test_memory_is_given_back(self) -> None:
        first, second = self._begin(16 * MIB), self._begin(16 * MIB)
        for upload in (first, second) * 8:
            upload.read()
            upload.finish()
        self.assertEqual(MIB, first.sizes[-1])
        self.stack.close()
        alone = self._begin(16 * MIB)
        alone.read()
        self.assertEqual(2 * MIB, alone.sizes[-1])

    def test_deep_and_small(self) -> None:
        """A share that is too small for the depth reduces the depth."""
        upload, *_ = [self._begin(16 * MIB, depth=64) for _ in range(4)]
        for _ in range(20):
            upload.read()
            upload.finish()
        self.assertEqual({budget.MIN_PIECE}, set(upload.sizes))
        self.assertEqual(14, upload.share.depth)

    def test_pieces_do_not_cross_objects(self) -> None:
        chance = random.Random(3)
        upload = self._begin(32 * MIB)
        with contextlib.ExitStack() as others:
            for _ in range(300):
                if chance.random() < 0.3:
                    others.close()
                elif chance.random() < 0.3:
                    others.enter_context(self.budget.share(32 * MIB, MIB, 4))
                start = sum(upload.sizes)
                upload.read()
                upload.finish()
                self.assertEqual(0, start % upload.sizes[-1])
        self.assertLess(2, len(set(upload.sizes)))

    def test_small_chunks(self) -> None:
        upload = self._begin(largest=MIB)
        upload.read()
        self.assertEqual([MIB], upload.sizes)
