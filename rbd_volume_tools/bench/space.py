# SPDX-License-Identifier: Apache-2.0

"""The pools that store the images of a run, and their free space."""

import time
from typing import Any

from rbd_volume_options import errors
from rbd_volume_tools.bench import facts
from rbd_volume_tools.bench import processes

#: Seconds after which the figures of the monitors contain a removal.
SETTLED = 30.0


class Space:
    """The pools that store the images of a run.

    :param cluster: a connection of librados
    :param pool: the pool of the images
    """

    def __init__(self, cluster: Any, pool: str) -> None:
        self._cluster = cluster
        self._pool = pool
        self.data_pool = pool

    def use(self, ident: int) -> None:
        """Use a data pool for images from now on.

        :param ident: the ID of the data pool of an image
        """
        self.data_pool = self.named(ident)

    def named(self, ident: int) -> str:
        """Return the name of the data pool of an image."""
        return str(self._cluster.pool_reverse_lookup(ident) or self._pool)

    def check(self, needed: int) -> None:
        """Check that there is twice the space that data needs.

        :raises OptionError: if there is less
        """
        free = self._free(self.data_pool)
        if needed > free // 2:
            raise errors.OptionError(
                '--pool',
                self._pool,
                f'{needed} bytes of data are needed, and {free} are free'
                f'{self._where(self.data_pool)}',
                'a pool with twice the space, or a smaller --image-size',
            )

    def require(
        self, needed: int, data_pool: str = '', wait: float = SETTLED
    ) -> None:
        """Wait until there is space for data.

        :param data_pool: the pool of the data; by default that of images
        :param wait: seconds. The space of a removed image is free later.
        :raises processes.EngineError: if there is less
        """
        of = data_pool or self.data_pool
        end = time.monotonic() + wait
        while needed > (free := self._free(of)):
            if time.monotonic() >= end:
                raise processes.EngineError(
                    f'{needed} bytes of data are needed, and {free} are free'
                    f'{self._where(of)}'
                )
            time.sleep(1)

    def _free(self, data_pool: str) -> int:
        """Return the free space for data; 0 if a header has no space."""
        if not facts.free(self._cluster, self._pool):
            return 0
        return facts.free(self._cluster, data_pool)

    def _where(self, data_pool: str) -> str:
        if data_pool == self._pool:
            return f' in the pool {data_pool}'
        return f' in the data pool {data_pool} of the pool {self._pool}'
