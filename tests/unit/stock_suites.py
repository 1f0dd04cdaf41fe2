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

"""The stock projects' own tests, run with our classes in place of theirs.

They are in the wheels of each release. A test that asks for what ours is
there to do otherwise is listed as data, with the reason, and the list is
held to be no longer than it has to be: a listed test that passes is a
failure of the run.
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
    """A stock test that can't pass on our class.

    :ivar test: ``TheirClass.test_name``
    :ivar reason: what ours does otherwise, and why
    :ivar releases: first numbers of the host's versions that have the test
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
    """Import modules of tests anew, with our classes in their place.

    Anew, and then already: a decorator such as ``mock.patch.object(
    module.Class, 'method')`` looks the class up when the module is loaded.

    :param holder: the module that the tests take the classes from
    :param ours: our classes, by their name there
    """
    with mock.patch.multiple(holder, **ours), _put_aside(names):
        return [importlib.import_module(name) for name in names]


class Adopted:
    """Suites of theirs on our classes.

    :param suites: their test classes
    :param in_place: a fixture that has our classes in place while it is set
        up
    :param impossible: what can't pass
    :param release: first number of the host's version
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
        """Return their tests as tests of a module of ours."""
        found = unittest.TestSuite()
        for name in self._theirs:
            suite = self._on_ours(name, module, self._left_out(name))
            found.addTests(loader.loadTestsFromTestCase(suite))
        for each in self._impossible:
            found.addTest(self._no_longer_than_needed(each, module))
        return found

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
            # Before setUp, so that it ends after all that setUp made.
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
        """Return a test that fails where a listed one passes, or is gone."""
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
