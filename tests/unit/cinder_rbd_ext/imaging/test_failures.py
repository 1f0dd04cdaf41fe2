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

"""Exceptions of the driver when it cannot create an image."""

from cinder import exception
from oslo_concurrency import processutils

from cinder_rbd_ext import exceptions
from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import failures
from rbd_volume_options import errors
from tests.unit import base


def _no_plan(base: object, parent: object) -> None:
    raise AssertionError('nothing is planned')


class NamingTest(base.TestCase):
    def _raised(
        self, error: Exception, first: Exception | None = None
    ) -> Exception:
        made = creations.Creation('volume-1', _no_plan)  # type: ignore[arg-type]
        made.failure = first
        try:
            with failures.naming(made):
                raise error
        except Exception as raised:
            return raised

    def test_error_of_librbd_names_the_image(self) -> None:
        error = self._raised(OSError(110, 'timed out'))
        self.assertIsInstance(error, exceptions.ImageNotMade)
        self.assertIn('volume-1', str(error))
        self.assertIn('timed out', str(error))
        self.assertIsInstance(error.__cause__, OSError)

    def test_first_one(self) -> None:
        stock = exception.ReplicationError(reason='r', volume_id='1')
        error = self._raised(stock, OSError('the cause'))
        self.assertIn('the cause', str(error))

    def test_cinders_own_and_commands(self) -> None:
        for own in (
            exception.InvalidInput(reason='x'),
            processutils.ProcessExecutionError('y'),
            errors.OptionError('rbd:x', 'y', 'not allowed', 'nothing'),
        ):
            self.assertIs(own, self._raised(own))
            self.assertIs(own, self._raised(OSError('later'), own))
