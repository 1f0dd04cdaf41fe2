# SPDX-License-Identifier: Apache-2.0

"""Differences between the supported releases of Cinder, 26 to 29.

A difference in names is detected by the name, one in behaviour by the version.
"""

from collections.abc import Callable
import importlib
import os
import re
import threading
import time
from typing import Any
import weakref

from cinder import utils
from cinder import version


def _major(text: str) -> int:
    """Return the first number of a version; 0 for a tree without a version."""
    number = re.match(r'\d+', text)
    return int(number[0]) if number else 0


RELEASE = _major(version.version_string())

#: Whether a re-image writes into the existing RBD image. Up to Cinder 28, the
#: stock driver deletes it and imports a new one.
REIMAGE_KEEPS_IMAGE = RELEASE == 0 or RELEASE >= 29

#: Why a re-image is refused where the image is not kept.
REIMAGE_LOSES_SNAPSHOTS = (
    'the volume has snapshots, and this release of Cinder replaces the RBD '
    'image of a volume that is re-imaged. Delete the snapshots, and request '
    'the re-image again'
)


def database() -> Any:
    """Return the module of Cinder's functions for the database."""
    try:
        # Up to Cinder 28.
        return importlib.import_module('cinder.db.sqlalchemy.api')
    except ImportError:
        return importlib.import_module('cinder.db.api')


def off_the_hub(blocking: Any) -> Any:
    """Return an object whose methods do not block eventlet's other threads."""
    wrap = getattr(utils, 'tpool_wrap', None)
    if wrap is None:
        # Imported here, because Cinder is removing eventlet.
        from eventlet import tpool

        wrap = tpool.Proxy
    return wrap(blocking)


def off_main_thread(blocking: Any) -> Any:
    """Act as :func:`off_the_hub` in the main thread, where eventlet runs.

    Another thread may block and has no hub to return to.
    """
    if threading.get_native_id() == os.getpid():
        return off_the_hub(blocking)
    return blocking


def unwrapped(blocking: Any) -> Any:
    """Return the object that :func:`off_the_hub` has wrapped, or itself."""
    if type(blocking).__module__ == 'eventlet.tpool':
        return blocking._obj
    return blocking


def _native(module: Any) -> Any:
    """Return a module of Python, without changes by eventlet."""
    if type(off_the_hub(_native)) is type(_native):
        return module
    from eventlet import patcher

    return patcher.original(module.__name__)


def without_thread_pool() -> None:
    """Let Cinder 29 transfer several images at a time with native threads.

    The results of eventlet's thread pool reach only one of the threads.
    Without threads of its own, the pool calls functions directly.
    """
    if _native(threading) is threading:
        from eventlet import tpool

        tpool.set_num_threads(0)


def native_lock() -> Any:
    """Return a lock for the threads of the process, native or eventlet's.

    While it is held, nothing may wait for another thread of eventlet.
    """
    return _native(threading).Lock()


def after_fork(method: Callable[[], None]) -> None:
    """Call a method in each forked process, as long as its object exists."""
    of_object = weakref.WeakMethod(method)

    def run() -> None:
        bound_method = of_object()
        if bound_method is not None:
            bound_method()

    os.register_at_fork(after_in_child=run)


def in_thread(function: Callable[[], Any]) -> None:
    """Run a function in a native thread of its own, and do not wait for it."""
    _native(threading).Thread(target=function, daemon=True).start()


def native_sleep(seconds: float) -> None:
    """Sleep in a native thread."""
    _native(time).sleep(seconds)
