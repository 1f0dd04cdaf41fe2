# SPDX-License-Identifier: Apache-2.0

"""Test folders that run in a separate process.

Nova and Cinder register options of the same names with the global object of
oslo.config, so a process cannot import both. A run of a parent folder skips
these folders. To run one of them, set an environment variable.
"""

from collections.abc import Callable
import importlib
import os
import pathlib
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[1]
#: The folders that run in a separate process.
FOLDERS = ('tests/unit/nova_rbd_cache', 'tests/functional/nova_rbd_cache')
#: The variable with the folder that this process runs, set by the runner.
FOLDER = 'RBD_TEST_FOLDER'

LoadTests = Callable[
    [unittest.TestLoader, unittest.TestSuite, str | None], unittest.TestSuite
]


def loader(package_file: str, *first: str) -> LoadTests:
    """Return ``load_tests`` for a package that runs in its own process.

    :param package_file: the package's ``__file__``
    :param first: modules to import first, because they select the kind of
        threads of the process
    """
    folder = pathlib.Path(package_file).resolve().parent

    def load_tests(
        loader: unittest.TestLoader,
        standard_tests: unittest.TestSuite,
        pattern: str | None,
    ) -> unittest.TestSuite:
        wanted = _ROOT / os.environ.get(FOLDER, '.')
        if wanted == folder or folder in wanted.parents:
            for name in first:
                importlib.import_module(name)
            standard_tests.addTests(
                loader.discover(str(folder), pattern or 'test*.py')
            )
        return standard_tests

    return load_tests
