# SPDX-License-Identifier: Apache-2.0

"""A process that removes an image and kills itself half-way.

The image is in a pool, by its name, or in the trash, by its id.
"""

import os
import signal
import sys

import rados
import rbd


def _at(offset: int, total: int) -> int:
    if offset * 2 >= total:
        os.kill(os.getpid(), signal.SIGKILL)
    return 0


def main(conf: str, pool: str, name: str, ident: str) -> None:
    """Remove an image.

    :param conf: the path of ``ceph.conf``
    :param ident: the id of the image in the trash; empty for one in the pool
    """
    client = rados.Rados(conffile=conf, rados_id='admin')
    # Otherwise librbd removes ten objects at once, and none might remain.
    client.conf_set('rbd_concurrent_management_ops', '1')
    client.connect()
    ioctx = client.open_ioctx(pool)
    if ident:
        rbd.RBD().trash_remove(ioctx, ident, on_progress=_at)
    else:
        rbd.RBD().remove(ioctx, name, on_progress=_at)


if __name__ == '__main__':
    main(*sys.argv[1:])
