#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

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
