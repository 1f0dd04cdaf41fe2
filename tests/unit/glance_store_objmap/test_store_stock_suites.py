# SPDX-License-Identifier: Apache-2.0

"""glance_store's test suites for its RBD store, run with our classes."""

import errno
import functools
import importlib.metadata
import importlib.util
from typing import Any
import unittest

import fixtures
from glance_store import multi_backend
from glance_store._drivers import rbd as stock

from glance_store_objmap import settings
from glance_store_objmap import store
from rbd_volume_options import sizes
from tests.unit import stock_suites

#: Tests that cannot pass, and the reasons.
IMPOSSIBLE = [
    stock_suites.Impossible(
        f'{suite}.test_get_partial_image',
        'ranges are refused there, and work in ours',
    )
    for suite in ('TestStore', 'TestMultiStore')
]

_RELEASE = int(importlib.metadata.version('glance_store').partition('.')[0])
_UNIT = 'glance_store.tests.unit'
_NAMES = [f'{_UNIT}.test_rbd_store', f'{_UNIT}.test_multistore_rbd']
# Since 5.4; before, both of the other modules contain its tests.
if importlib.util.find_spec(f'{_UNIT}.test_rbd_store_base'):
    _NAMES.append(f'{_UNIT}.test_rbd_store_base')
_OURS = {'Store': store.Store, 'StoreLocation': store.StoreLocation}
_MODULES = stock_suites.load(_NAMES, stock, _OURS)
_SINGLE, _MULTI = _MODULES[:2]


class _OurDriver:
    """The stock driver's module with our classes, as the suites see it."""

    Store = store.Store
    StoreLocation = store.StoreLocation

    def __getattr__(self, name: str) -> Any:
        return getattr(stock, name)

    # The suites set their mocks of rados, rbd and tpool on the module.

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(stock, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(stock, name)


class _Completion:
    def wait_for_complete_and_cb(self) -> None:
        pass

    def get_return_value(self) -> int:
        return 0


def _aio_write(image: Any, data: bytes, offset: int, done: Any) -> Any:
    # The suites count synchronous writes; their mock has no others.
    image.write(data, offset)
    return _Completion()


def _nothing(*args: Any, **kwargs: Any) -> int:
    """Stand in for a method that the suites' mocks lack."""
    return 0


#: Methods that the mocks lack, by their full names.
_LACKING = {
    'MockRados.Rados.conf_set': _nothing,
    'MockRados.Rados.mon_command': lambda *_: (0, b'{}', ''),
    'MockRados.ioctx.get_pool_id': _nothing,
    'MockRados.ioctx.set_osdmap_full_try': _nothing,
    'MockRados.ioctx.stat': _nothing,
    'MockRBD.Image.aio_write': _aio_write,
    'MockRBD.Image.data_pool_id': _nothing,
    'MockRBD.Image.flush': _nothing,
    'MockRBD.RBD.config_list': lambda *_: [],
}


class _Error(Exception):
    """``rbd.Error``, the base class of all errors, which the mock lacks."""


def _load(conf: Any, entry: str, *args: Any, **kwargs: Any) -> Any:
    """Load our store where the suites request the stock one."""
    backend = kwargs.get('backend')
    if entry == 'rbd':
        if not (args[0] if args else kwargs.get('invoke_load', True)):
            return store.Store
        return store.Store(conf, backend=backend)
    return _LOAD(conf, entry, *args, **kwargs)


_LOAD = multi_backend._load_multi_store


class _OurClasses(fixtures.Fixture):
    """Replace the stock classes with ours; restore the mocks afterwards."""

    def _setUp(self) -> None:
        # Hide the log of intentional failures.
        self.useFixture(fixtures.FakeLogger())
        for name in ('rados', 'rbd'):
            self._patch(stock, name, getattr(stock, name))
        for module in _MODULES:
            self._patch(module, 'rbd_store', _OurDriver())
            if hasattr(module, 'MockRBD'):
                self._complete(module)
        self._patch(multi_backend, '_load_multi_store', _load)
        # A suite compares the sizes of all writes with the chunk size.
        self._patch(settings, 'MAX_PIECE', 8 * sizes.MIB)

    def _complete(self, module: Any) -> None:
        """Add methods and errors of current Ceph releases to the mocks."""
        for path, function in _LACKING.items():
            names = path.split('.')
            holder = functools.reduce(getattr, names[:-1], module)
            setattr(holder, names[-1], function)
            self.addCleanup(delattr, holder, names[-1])
        librbd = module.MockRBD
        librbd.Error = _Error
        self.addCleanup(delattr, librbd, 'Error')
        # The error of the real librbd has an errno.
        librbd.NoSpace.errno = errno.ENOSPC
        self.addCleanup(delattr, librbd.NoSpace, 'errno')

    def _patch(self, holder: Any, name: str, value: Any) -> None:
        self.addCleanup(setattr, holder, name, getattr(holder, name))
        setattr(holder, name, value)


_ADOPTED = stock_suites.Adopted(
    [_SINGLE.TestReSize, _SINGLE.TestStore, _MULTI.TestMultiStore],
    _OurClasses,
    IMPOSSIBLE,
    _RELEASE,
)


def load_tests(
    loader: unittest.TestLoader, tests: Any, pattern: str | None
) -> unittest.TestSuite:
    """Load the adapted suites instead of their original modules."""
    return _ADOPTED.load_tests(__name__, loader)
