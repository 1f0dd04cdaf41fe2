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

"""glance_store's own suites for its RBD store, with our classes in place.

They are in its wheel. Each test of theirs runs here but those of
:data:`IMPOSSIBLE`, which ask for what ours is there to do otherwise.
"""

from collections.abc import Callable
import sys
from typing import Any
import unittest

import fixtures
from glance_store import multi_backend
from glance_store._drivers import rbd as stock
from glance_store.tests.unit import test_multistore_rbd
from glance_store.tests.unit import test_rbd_store
from glance_store.tests.unit import test_rbd_store_base

from glance_store_objmap import store

#: Tests that can't pass, and why.
IMPOSSIBLE = {
    'test_get_partial_image': 'ranges are refused there, and work in ours',
}


class _OurDriver:
    """The stock driver's module, as the suites see it, with our classes."""

    Store = store.Store
    StoreLocation = store.StoreLocation

    def __getattr__(self, name: str) -> Any:
        return getattr(stock, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # The suites put their mocks of rados and rbd there.
        setattr(stock, name, value)


class _Completion:
    def wait_for_complete_and_cb(self) -> None:
        pass

    def get_return_value(self) -> int:
        return 0


def _aio_write(image: Any, data: bytes, offset: int, done: Any) -> Any:
    # The suites' mock has no asynchronous writes; they count the others.
    image.write(data, offset)
    return _Completion()


def _load(conf: Any, entry: str, *args: Any, **kwargs: Any) -> Any:
    """Load our store where the suites ask for the stock one."""
    backend = kwargs.get('backend')
    if entry == 'rbd':
        if not (args[0] if args else kwargs.get('invoke_load', True)):
            return store.Store
        return store.Store(conf, backend=backend)
    return _LOAD(conf, entry, *args, **kwargs)


_LOAD = multi_backend._load_multi_store
_MODULES = (test_rbd_store, test_multistore_rbd, test_rbd_store_base)


class _OurClasses(fixtures.Fixture):
    """Puts our classes in place, and the mocks back afterwards."""

    def _setUp(self) -> None:
        # What fails there on purpose needn't be seen.
        self.useFixture(fixtures.FakeLogger())
        for name in ('rados', 'rbd'):
            self._patch(stock, name, getattr(stock, name))
        for module in _MODULES:
            self._patch(module, 'rbd_store', _OurDriver())
        self._patch(multi_backend, '_load_multi_store', _load)
        image = test_rbd_store_base.MockRBD.Image
        image.aio_write = None
        self.addCleanup(delattr, image, 'aio_write')
        image.aio_write = _aio_write

    def _patch(self, holder: Any, name: str, value: Any) -> None:
        self.addCleanup(setattr, holder, name, getattr(holder, name))
        setattr(holder, name, value)


def _with_our_classes(suite: type[unittest.TestCase]) -> type:
    """Return a suite of theirs on our classes, without the impossible."""

    def set_up(self: Any) -> None:
        classes = _OurClasses()
        classes.setUp()
        # Before setUp, so that it ends after all that setUp made.
        self.addCleanup(classes.cleanUp)
        suite.setUp(self)

    members: dict[str, Any] = {
        'setUp': set_up,
        '__module__': __name__,
        **dict.fromkeys(set(dir(suite)) & set(IMPOSSIBLE)),
    }
    return type(f'{suite.__name__}OnOurs', (suite,), members)


ReSizeTest = _with_our_classes(test_rbd_store.TestReSize)
StoreTest = _with_our_classes(test_rbd_store.TestStore)
MultiStoreTest = _with_our_classes(test_multistore_rbd.TestMultiStore)


class ImpossibleTest(unittest.TestCase):
    """The list above is not longer than it has to be."""

    def test_each_fails(self) -> None:
        for name in IMPOSSIBLE:
            result = unittest.TestResult()
            suite: Callable[[str], Any] = type(
                'Whole', (StoreTest,), {name: _their(name)}
            )
            suite(name).run(result)
            self.assertEqual(1, len(result.failures + result.errors), name)


def _their(name: str) -> Any:
    return getattr(test_rbd_store.TestStore, name)


def load_tests(
    loader: unittest.TestLoader, tests: Any, pattern: str | None
) -> unittest.TestSuite:
    """Load the suites made here; not the modules that they come from."""
    module = sys.modules[__name__]
    return unittest.TestSuite(
        loader.loadTestsFromTestCase(getattr(module, name))
        for name in (
            'ReSizeTest',
            'StoreTest',
            'MultiStoreTest',
            'ImpossibleTest',
        )
    )
