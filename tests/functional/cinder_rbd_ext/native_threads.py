# SPDX-License-Identifier: Apache-2.0


"""A service with many concurrent operations in native threads.

A separate program without eventlet, which Cinder's test base always uses. It
prints the largest number of open connections. It exits with open connections,
as a service does.
"""

import concurrent.futures
import contextlib
import pathlib
import sys
import threading
from typing import Any

from cinder import context
from cinder.volume import configuration
from cinder.volume import driver as cinder_driver
from cinder.volume.drivers import rbd as stock_rbd
from oslo_config import cfg

from cinder_rbd_ext import driver
from cinder_rbd_ext import opts

_AT_ONCE = 40
_GROUP = 'ceph'


def _connections() -> int:
    names = []
    for task in pathlib.Path('/proc/self/task').iterdir():
        # The thread may have ended.
        with contextlib.suppress(OSError):
            names.append((task / 'comm').read_text().strip())
    return names.count('msgr-worker-0')


def _make_driver(conf: str) -> Any:
    cfg.CONF([], project='cinder')
    settings = configuration.Configuration(
        cinder_driver.volume_opts, config_group=_GROUP
    )
    settings.append_config_values(stock_rbd.RBD_OPTS)
    settings.append_config_values(opts.backend_opts())
    for name, value in (
        ('rbd_pool', 'volumes'),
        ('rbd_user', 'admin'),
        ('rbd_ceph_conf', conf),
    ):
        cfg.CONF.set_override(name, value, group=_GROUP)
    made = driver.RBDExtDriver(configuration=settings)
    made.do_setup(context.get_admin_context())
    made.check_for_setup_error()
    return made


def main(conf: str) -> None:
    """Create and remove images, each in its own thread.

    :param conf: the path of ``ceph.conf``
    """
    made = _make_driver(conf)
    most = [0]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            most[0] = max(most[0], _connections())

    def operate(number: int) -> None:
        with stock_rbd.RADOSClient(made) as client:
            made.RBDProxy().create(client.ioctx, f'native-{number}', 1 << 30)
        with stock_rbd.RBDVolumeProxy(made, f'native-{number}') as image:
            image.resize(2 << 30)
        with stock_rbd.RADOSClient(made) as client:
            made.RBDProxy().remove(client.ioctx, f'native-{number}')

    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE + 1) as pool:
        watching = pool.submit(watch)
        list(pool.map(operate, range(_AT_ONCE)))
        ended.set()
        watching.result()
    print(most[0])


if __name__ == '__main__':
    main(sys.argv[1])
