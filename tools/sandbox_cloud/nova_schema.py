# SPDX-License-Identifier: Apache-2.0

"""Create Nova's databases and cells; runs on the release's own Python.

Replaces five commands of ``nova-manage`` (``api_db sync``, ``cell_v2
map_cell0``, ``cell_v2 create_cell``, ``db sync``, the last for two
databases). Each command takes seconds to start.
"""

from __future__ import annotations

import sys

from nova import config
from nova import objects
from nova.cmd import manage


def main(conf: str) -> None:
    """Create what is missing, with this configuration file."""
    config.parse_args(['nova-manage', '--config-file', conf])
    objects.register_all()
    manage.ApiDbCommands().sync()
    cells = manage.CellV2Commands()
    cells.map_cell0()
    # 2: it exists already, from an interrupted attempt.
    if cells.create_cell(name='cell1') not in (0, 2):
        raise SystemExit('Could not create cell1')
    if manage.DbCommands().sync():
        raise SystemExit('Could not create the databases')


if __name__ == '__main__':
    main(sys.argv[1])
