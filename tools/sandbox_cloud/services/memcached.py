# SPDX-License-Identifier: Apache-2.0

"""memcached: cache of validated tokens."""

from __future__ import annotations

from typing import ClassVar

from sandbox_cloud.contract import Service
from sandbox_cloud.program import Program


class Memcached(Service):
    """The cache."""

    name: ClassVar[str] = 'memcached'
    ports: ClassVar[tuple[int, ...]] = (11211,)

    def programs(self) -> tuple[Program, ...]:
        """Return the server."""
        port = str(self.ports[0])
        where = ('-u', 'root', '-l', '127.0.0.1', '-p', port, '-m', '64')
        return (Program('memcached', ('/usr/bin/memcached', *where)),)
