# SPDX-License-Identifier: Apache-2.0

"""A process that removes an image and kills itself half-way."""

import os
import signal
import sys

import rados
import rbd


def _at(offset: int, total: int) -> int:
    if offset * 2 >= total:
        os.kill(os.getpid(), signal.SIGKILL)
    return 0


def main(conf: str, pool: str, name: str) -> None:
    """Remove an image.

    :param conf: the path of ``ceph.conf``
    """
    client = rados.Rados(conffile=conf, rados_id='admin')
    # Otherwise librbd removes ten objects at once, and none might remain.
    client.conf_set('rbd_concurrent_management_ops', '1')
    client.connect()
    rbd.RBD().remove(client.open_ioctx(pool), name, on_progress=_at)


if __name__ == '__main__':
    main(*sys.argv[1:])
