# SPDX-License-Identifier: Apache-2.0

"""Which tests a run executes.

A tag on a test class or on a test, in its own file, says in which runs of
``tools/test`` it takes part. A test's own tags replace those of its class. A
test without a tag is part of continuous integration on the newest release and
on Debian 12. The run is in an environment variable; without it, all tests of a
folder run, as in ``tools/test all``.

Some folders also run in a separate process. Nova and Cinder register options
of the same names with the global object of oslo.config, so a process cannot
import both. A run of a parent folder skips these folders. To run one of them,
set an environment variable.
"""

from collections.abc import Callable
from collections.abc import Iterator
import importlib
import os
import pathlib
import re
from typing import Any
from typing import TypeVar
import unittest

import testtools

_ROOT = pathlib.Path(__file__).resolve().parents[1]
#: The folders that run in a separate process.
FOLDERS = ('tests/unit/nova_rbd_cache', 'tests/functional/nova_rbd_cache')
#: The variable with the folder that this process runs, set by the runner.
FOLDER = 'RBD_TEST_FOLDER'
#: The variable with the run, set by the runner.
RUN = 'RBD_TEST_RUN'

#: In ``tools/test all`` only: it takes minutes, or other tests of continuous
#: integration find the same defects.
NIGHTLY = 'nightly'
#: Also on the older releases of OpenStack.
RELEASES = 'releases'
#: Also on Debian 13, with its versions of Ceph, QEMU and Python.
DEBIAN = 'debian'
TAGS = (NIGHTLY, RELEASES, DEBIAN)
#: Continuous integration on the newest release.
DEFAULT = 'default'
RUNS = (DEFAULT, RELEASES, DEBIAN)

_Tagged = TypeVar('_Tagged')
LoadTests = Callable[
    [unittest.TestLoader, unittest.TestSuite, str | None], unittest.TestSuite
]


def tags(*names: str) -> Callable[[_Tagged], _Tagged]:
    """Tag a test or a test class; without names, remove the class's tags.

    :raises ValueError: an unknown tag, which no run would select
    """
    if unknown := set(names) - set(TAGS):
        raise ValueError(f'unknown tags: {unknown}')

    def decorate(tagged: _Tagged) -> _Tagged:
        vars_of: Any = tagged
        vars_of.selection_tags = frozenset(names)
        return tagged

    return decorate


def nightly_after(cases: int) -> Callable[[_Tagged], _Tagged]:
    """Leave all cases of ``ddt.data`` but the first to the nightly run.

    Unit tests run all of them: a test may run on a fake and on Ceph.
    """

    def decorate(test: _Tagged) -> _Tagged:
        function: Any = test
        function.selection_cases = (function.__name__, cases)
        return test

    return decorate


def tags_of(test: unittest.TestCase) -> frozenset[str]:
    """Return the tags of a test."""
    name = getattr(test, '_testMethodName', '')
    method = getattr(type(test), name, None)
    none: frozenset[str] = frozenset()
    of_class = getattr(type(test), 'selection_tags', none)
    chosen: frozenset[str] = getattr(method, 'selection_tags', of_class)
    base, cases = getattr(method, 'selection_cases', (name, 0))
    number = re.match(r'_(\d+)', name.removeprefix(base))
    is_unit = type(test).__module__.startswith('tests.unit.')
    if cases and number and int(number[1]) > cases and not is_unit:
        return chosen | {NIGHTLY}
    return chosen


def is_selected(test: unittest.TestCase, run: str | None) -> bool:
    """Return whether a run executes a test; without a run, all are."""
    # What could not be imported must fail in each run.
    if not run or type(test).__module__.startswith('unittest.'):
        return True
    found = tags_of(test)
    return NIGHTLY not in found and (run == DEFAULT or run in found)


def loader(package_file: str) -> LoadTests:
    """Return ``load_tests`` for a folder of tests.

    :param package_file: the package's ``__file__``
    """
    folder = pathlib.Path(package_file).resolve().parent

    def load_tests(
        loader: unittest.TestLoader,
        standard_tests: unittest.TestSuite,
        pattern: str | None,
    ) -> unittest.TestSuite:
        run = os.environ.get(RUN)
        if run in TAGS:
            found = unittest.TestSuite()
            found.addTests(_with_tag(loader, folder, run))
        else:
            found = loader.discover(str(folder), pattern or 'test*.py')
        for test in testtools.iterate_tests(found):
            if is_selected(test, run):
                standard_tests.addTest(test)
        return standard_tests

    return load_tests


def _with_tag(
    loader: unittest.TestLoader, folder: pathlib.Path, tag: str
) -> Iterator[unittest.TestSuite]:
    """Load the files of tests that name a tag, without importing others."""
    apart = {_ROOT / name for name in FOLDERS} - {folder}
    for path in sorted(folder.rglob('test_*.py')):
        is_apart = apart & set(path.parents)
        if not is_apart and f'runs.{tag.upper()}' in path.read_text():
            name = '.'.join(path.relative_to(_ROOT).with_suffix('').parts)
            yield loader.loadTestsFromName(name)


def alone(package_file: str, *first: str) -> LoadTests:
    """Return ``load_tests`` for a package that runs in its own process.

    :param package_file: the package's ``__file__``
    :param first: modules to import first, because they select the kind of
        threads of the process
    """
    folder = pathlib.Path(package_file).resolve().parent
    load_selected = loader(package_file)

    def load_tests(
        loader: unittest.TestLoader,
        standard_tests: unittest.TestSuite,
        pattern: str | None,
    ) -> unittest.TestSuite:
        wanted = _ROOT / os.environ.get(FOLDER, '.')
        if wanted != folder and folder not in wanted.parents:
            return standard_tests
        for name in first:
            importlib.import_module(name)
        return load_selected(loader, standard_tests, pattern)

    return load_tests
