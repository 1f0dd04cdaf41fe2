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
