# SPDX-License-Identifier: Apache-2.0

"""Watchers of images that the driver has open.

The stock driver lists the images that can be managed. It opens one after the
other and runs ``rbd status`` for each to find its watchers: a program that
connects to the cluster and opens the image again. librbd returns the same
watchers for the open image, with one request to an OSD.
"""

import contextvars
from typing import Any
import weakref

from cinder.volume.drivers import rbd

from cinder_rbd_ext import protocols

_Opened = tuple[str | None, weakref.ref[Any]]

# The image that the current thread, native or eventlet's, has opened last.
_last: contextvars.ContextVar[_Opened | None] = contextvars.ContextVar(
    '_last', default=None
)


def opened(name: str | None, image: protocols.Image) -> None:
    """Remember the image that the current thread has just opened."""
    _last.set((name, weakref.ref(image)))


def status(driver: protocols.Driver, name: str) -> dict[str, list[Any]]:
    """Return what the stock driver reads from the output of ``rbd status``.

    An image that is opened read-only has no watcher of its own.
    """
    last = _last.get()
    image = last[1]() if last and last[0] == name else None
    if image is not None:
        return {'watchers': list(image.watchers_list())}
    with rbd.RBDVolumeProxy(driver, name, read_only=True) as image:
        return {'watchers': list(image.watchers_list())}
