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


"""Unit tests of rbd_bench.commands.libraries."""

from osc_lib import exceptions

from rbd_bench.commands import libraries
from rbd_volume_options import errors
from tests.unit import base


class LibrariesTest(base.TestCase):
    def test_library_that_is_missing(self) -> None:
        def fail() -> None:
            with libraries.of_bench():
                raise ImportError('no module')

        error = self.assertRaises(exceptions.CommandError, fail)
        self.assertIn('no module. Install rbd-volume-options', str(error))

    def test_invalid_value(self) -> None:
        def fail() -> None:
            with libraries.of_bench():
                raise errors.OptionError('--size', '\x1b', 'bad', 'good')

        error = self.assertRaises(exceptions.CommandError, fail)
        self.assertIn('--size', str(error))
        self.assertNotIn('\x1b', str(error))
