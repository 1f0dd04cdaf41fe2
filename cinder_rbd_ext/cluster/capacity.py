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

"""Capacity of a back end with a separate data pool."""

import copy
from typing import Any


class _OtherPool:
    """The configuration of a back end, with another pool as the RBD pool."""

    def __init__(self, configuration: Any, pool: str) -> None:
        self._configuration = configuration
        self.rbd_pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._configuration, name)


def looking_at(driver: Any, pool: str) -> Any:
    """Return a copy of a driver with another pool as the RBD pool.

    The stock driver then computes the capacity (quotas, dynamic totals) of the
    pool that holds the data. This is a copy, because other threads create
    images while the statistics are collected.
    """
    view = copy.copy(driver)
    view.configuration = _OtherPool(driver.configuration, pool)
    return view
