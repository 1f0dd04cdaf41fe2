# SPDX-License-Identifier: Apache-2.0

"""Differences between the supported releases of glance_store.

Supported are 4.9 (2025.1) to 5.7 (2026.2). The code detects each difference by
the attributes of the installed modules, not by their version.
"""

from typing import Any

from glance_store._drivers import rbd as stock


def options_of(store: Any) -> Any:
    """Return the configuration section of a store.

    Since 5.0, a store has it as ``store_conf``, with a fallback to
    [backend_defaults].
    """
    configuration = getattr(store, 'store_conf', None)
    if configuration is not None:
        return configuration
    return getattr(store.conf, store.backend_group or 'glance_store')


def rbd_of(store: Any) -> Any:
    """Return the object that creates and removes RBD images.

    Up to 5.4, the stock store wraps it in a proxy that keeps its calls off
    the hub of eventlet, which glance-api of those releases may use.
    """
    proxy = getattr(store, 'RBDProxy', None)
    return stock.rbd.RBD() if proxy is None else proxy()
