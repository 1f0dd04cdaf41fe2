# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
