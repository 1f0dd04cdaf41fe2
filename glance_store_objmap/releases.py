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

"""What differs between the releases of glance_store that the store is for.

From 4.9 (2025.1) to 5.7 (2026.2). Each difference is asked for by what the
module at hand has, not by its version.
"""

from typing import Any

from glance_store._drivers import rbd as stock


def options_of(store: Any) -> Any:
    """Return a store's section of the configuration.

    From 5.0 on a store has it, falling back on [backend_defaults], as its
    ``store_conf``.
    """
    found = getattr(store, 'store_conf', None)
    if found is not None:
        return found
    return getattr(store.conf, store.backend_group or 'glance_store')


def rbd_of(store: Any) -> Any:
    """Return the object that makes and removes RBD images.

    Up to 5.4 the stock store keeps it off eventlet's hub, on which glance-api
    of that time may run.
    """
    proxy = getattr(store, 'RBDProxy', None)
    return stock.rbd.RBD() if proxy is None else proxy()
