# SPDX-License-Identifier: Apache-2.0

"""A workload: requests of one kind."""

import dataclasses
from typing import Any

from rbd_bench import fields

#: The patterns, by fio's names.
PATTERNS = ('read', 'write', 'randread', 'randwrite', 'rw', 'randrw')
_MIXED = ('rw', 'randrw')
_READS = ('read', 'randread')


@dataclasses.dataclass(frozen=True)
class Workload:
    """Requests of one kind.

    :ivar pattern: one of :data:`PATTERNS`
    :ivar block_size: bytes of a request
    :ivar queue_depth: requests in flight of each job
    :ivar jobs: jobs of fio at once, each with its own handle of the image
    :ivar read_percent: share of reads in a mixed pattern
    :ivar flush_every: writes between two flushes; 0 for no flushes
    """

    name: str
    pattern: str
    block_size: int
    queue_depth: int
    read_percent: int = 50
    flush_every: int = 0
    jobs: int = 1

    @property
    def in_flight(self) -> int:
        """The requests in flight of all jobs."""
        return self.queue_depth * self.jobs

    @property
    def is_sequential(self) -> bool:
        """Whether the requests are sequential."""
        return not self.pattern.startswith('rand')

    @property
    def writes(self) -> bool:
        """Whether any of the requests are writes."""
        return self.pattern not in _READS


def read(where: str, content: Any) -> Workload:
    """Return a workload of a plan.

    :raises OptionError: for an invalid value
    """
    section = fields.Fields(
        where, content, tuple(x.name for x in dataclasses.fields(Workload))
    )
    pattern = section.choice('pattern', PATTERNS)
    if 'read_percent' in section and pattern not in _MIXED:
        raise fields.refused(
            section.path('read_percent'),
            section.raw('read_percent'),
            f'set with the pattern {pattern}',
            f'only with {" or ".join(_MIXED)}',
        )
    jobs = section.number('jobs', 1, 64, 1)
    if jobs > 1 and pattern not in _READS:
        # Each job would wait for the exclusive lock of the others.
        raise fields.refused(
            section.path('jobs'),
            jobs,
            f'set with the pattern {pattern}',
            f'1, or more with {" or ".join(_READS)}',
        )
    block_size = section.size('block_size')
    if not 512 <= block_size <= 64 * 2**20 or block_size % 512:
        raise fields.refused(
            section.path('block_size'),
            section.raw('block_size'),
            'out of range',
            'a multiple of 512 bytes, up to 64M',
        )
    return Workload(
        section.name('name'),
        pattern,
        block_size,
        section.number('queue_depth', 1, 1024, 1),
        section.number('read_percent', 1, 99, 50),
        section.number('flush_every', 0, 2**20, 0),
        jobs,
    )
