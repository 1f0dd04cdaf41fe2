# SPDX-License-Identifier: Apache-2.0

"""The stock projects' own tests, run on our classes.

They come with the wheels of each release. Tests that contradict intended
behavior of our classes are listed with the reason. A listed test that passes
is a failure, so that the list contains no unnecessary tests.
"""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import importlib
import sys
import types
from typing import Any
import unittest
from unittest import mock

import fixtures

ALL_RELEASES = range(1000)


@dataclasses.dataclass(frozen=True)
class Impossible:
    """A stock test that cannot pass on our class.

    :ivar test: ``StockClass.test_name``
    :ivar reason: how our class differs, and why
    :ivar releases: the major versions of the stock project with the test
    """

    test: str
    reason: str
    releases: Container[int] = ALL_RELEASES


@contextlib.contextmanager
def _put_aside(names: Sequence[str]) -> Iterator[None]:
    kept = {name: sys.modules.pop(name, None) for name in names}
    try:
        yield
    finally:
        for name, module in kept.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def load(
    names: Sequence[str], holder: types.ModuleType, ours: Mapping[str, Any]
) -> list[types.ModuleType]:
    """Import test modules again, with our classes in place.

    The classes must be in place at import, because a decorator such as
    ``mock.patch.object(module.Class, 'method')`` looks up the class then.

    :param holder: the module from which the tests take the classes
    :param ours: our classes, by their names in that module
    """
    with mock.patch.multiple(holder, **ours), _put_aside(names):
        return [importlib.import_module(name) for name in names]


class Adopted:
    """Stock test suites on our classes.

    :param suites: the stock test classes
    :param in_place: returns a fixture that puts our classes in place
    :param impossible: the tests that cannot pass
    :param release: the major version of the stock project
    """

    def __init__(
        self,
        suites: Sequence[type[unittest.TestCase]],
        in_place: Callable[[], fixtures.Fixture],
        impossible: Sequence[Impossible] = (),
        release: int = 0,
    ) -> None:
        self._theirs = {suite.__name__: suite for suite in suites}
        self._in_place = in_place
        self._impossible = [
            each for each in impossible if release in each.releases
        ]

    def load_tests(
        self, module: str, loader: unittest.TestLoader
    ) -> unittest.TestSuite:
        """Return the stock tests as tests of one of our modules."""
        adopted = unittest.TestSuite()
        for name in self._theirs:
            suite = self._on_ours(name, module, self._left_out(name))
            adopted.addTests(loader.loadTestsFromTestCase(suite))
        for each in self._impossible:
            adopted.addTest(self._no_longer_than_needed(each, module))
        return adopted

    def _left_out(self, name: str) -> set[str]:
        return {
            each.test.partition('.')[2]
            for each in self._impossible
            if each.test.startswith(f'{name}.')
        }

    def _on_ours(
        self, name: str, module: str, left_out: Container[str] = ()
    ) -> type[unittest.TestCase]:
        theirs = self._theirs[name]
        in_place = self._in_place

        def set_up(self: Any) -> None:
            fixture = in_place()
            fixture.setUp()
            # Before setUp, so that this clean-up runs last.
            self.addCleanup(fixture.cleanUp)
            theirs.setUp(self)

        members: dict[str, Any] = {
            'setUp': set_up,
            '__module__': module,
            **{test: None for test in dir(theirs) if test in left_out},
        }
        return type(f'{name}OnOurs', (theirs,), members)

    def _no_longer_than_needed(
        self, each: Impossible, module: str
    ) -> unittest.TestCase:
        """Return a test that fails if a listed test passes or is missing."""
        suite, _, name = each.test.partition('.')
        run = self._on_ours(suite, module)

        def test(self: unittest.TestCase) -> None:
            self.assertTrue(hasattr(run, name), f'no {each.test} any more')
            result = unittest.TestResult()
            run(name).run(result)
            self.assertNotEqual(
                0,
                len(result.failures + result.errors),
                f'{each.test} is listed as impossible and passes: '
                f'{each.reason}',
            )

        test_name = f'test_{suite}_{name}_fails'
        case: type[unittest.TestCase] = type(
            'ImpossibleTest',
            (unittest.TestCase,),
            {'__module__': module, test_name: test},
        )
        return case(test_name)
