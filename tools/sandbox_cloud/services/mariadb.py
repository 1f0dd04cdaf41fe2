# SPDX-License-Identifier: Apache-2.0

"""MariaDB: one database for each service that needs one."""

from __future__ import annotations

import shutil
from typing import ClassVar

from sandbox_cloud.contract import Service
from sandbox_cloud.program import Program


class MariaDB(Service):
    """The database server."""

    name: ClassVar[str] = 'mariadb'
    ports: ClassVar[tuple[int, ...]] = (3306,)

    def render(self) -> None:
        """Write the statements that it runs at each startup."""
        self.runtime.render(
            'mariadb.sql',
            self.etc / 'init.sql',
            databases=[
                name
                for each in self.services.values()
                for name in each.databases
            ],
        )

    def programs(self) -> tuple[Program, ...]:
        """Return the server, configured for speed, not for data safety."""
        init = self.etc / 'init.sql'
        command = (
            *('/usr/sbin/mariadbd', '--no-defaults', '--user=root'),
            f'--datadir={self.data}',
            f'--socket={self.state.run}/mariadb.sock',
            f'--pid-file={self.state.run}/mariadb.pid',
            f'--init-file={init}',
            *('--bind-address=127.0.0.1', f'--port={self.ports[0]}'),
            *('--max-connections=1000', '--skip-name-resolve'),
            *('--character-set-server=utf8mb3', '--performance-schema=0'),
            *('--innodb-buffer-pool-size=128M', '--skip-log-bin'),
            # Commits survive a kill of the process, but not of the machine.
            '--innodb-flush-log-at-trx-commit=2',
            *('--innodb-flush-method=fsync', '--skip-innodb-doublewrite'),
        )
        return (Program('mariadb', command, inputs=(init,)),)

    def initialise(self) -> None:
        """Create the server's system tables."""
        self.state.once('mariadb', self._install)

    def _install(self) -> None:
        # Remains of an interrupted attempt.
        shutil.rmtree(self.data, ignore_errors=True)
        self.runtime.execute(
            'mariadb-install',
            *('mariadb-install-db', '--no-defaults', '--user=root'),
            f'--datadir={self.data}',
            '--auth-root-authentication-method=socket',
            '--skip-test-db',
        )
