# SPDX-License-Identifier: Apache-2.0

"""A fixture with the built distribution."""

import atexit
import functools
import pathlib
import shutil
import tempfile

import fixtures

from tests import distribution

# Read before any test: each test deletes its temporary folder, but all tests
# share the build.
_OUTSIDE = tempfile.gettempdir()


@functools.cache
def _build() -> distribution.Built:
    scratch = tempfile.mkdtemp(dir=_OUTSIDE)
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return distribution.build(pathlib.Path(scratch, 'dist'))


class BuiltDistribution(fixtures.Fixture):
    """A build that all tests of a process share."""

    built: distribution.Built

    def _setUp(self) -> None:
        self.built = _build()
