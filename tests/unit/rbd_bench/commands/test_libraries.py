# SPDX-License-Identifier: Apache-2.0

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
