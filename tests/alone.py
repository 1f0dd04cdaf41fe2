# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Folders of tests that run in a process of their own.

Nova and Cinder register options of the same names with the one global object
of oslo.config, so that no process can import both. Such a folder is left out
of a run of the folder above it; who runs it on its own says so in the
environment.
"""

from collections.abc import Callable
import importlib
import os
import pathlib
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[1]
#: Such folders.
FOLDERS = ('tests/unit/nova_rbd_cache', 'tests/functional/nova_rbd_cache')
#: The folder that this process is for, as the runner sets it.
FOLDER = 'RBD_TEST_FOLDER'

LoadTests = Callable[
    [unittest.TestLoader, unittest.TestSuite, str | None], unittest.TestSuite
]


def loader(package_file: str, *first: str) -> LoadTests:
    """Return the function ``load_tests`` of a package that runs alone.

    :param package_file: the package's ``__file__``
    :param first: modules to import before any other, since one of them
        decides how threads work in the process
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
