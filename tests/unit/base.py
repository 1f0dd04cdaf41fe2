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

"""The class that every test of the suite inherits."""

import logging
import os
import warnings

import fixtures
import testtools

_TRUE = ('1', 'true', 'yes')


def _asked(name: str) -> bool:
    return os.environ.get(name, '').lower() in _TRUE


class TestCase(testtools.TestCase):
    """Captures logs and output, keeps files in a directory of its own.

    ``self.log`` holds what was logged: ``self.log.output``.
    """

    #: Seconds after which a test is ended; a subclass on a real service
    #: may allow more. OS_TEST_TIMEOUT overrides it for every test.
    timeout = 60

    def setUp(self) -> None:
        super().setUp()
        limit = int(os.environ.get('OS_TEST_TIMEOUT', self.timeout))
        if limit > 0:
            self.useFixture(fixtures.Timeout(limit, gentle=True))
        self.useFixture(fixtures.NestedTempfile())
        self.useFixture(fixtures.TempHomeDir())
        if _asked('OS_STDOUT_CAPTURE'):
            out = self.useFixture(fixtures.StringStream('stdout')).stream
            self.useFixture(fixtures.MonkeyPatch('sys.stdout', out))
        if _asked('OS_STDERR_CAPTURE'):
            err = self.useFixture(fixtures.StringStream('stderr')).stream
            self.useFixture(fixtures.MonkeyPatch('sys.stderr', err))
        self.log = self.useFixture(
            fixtures.FakeLogger(
                level=logging.DEBUG,
                format='%(levelname)s [%(name)s] %(message)s',
            )
        )
        # A resource that a test forgets to close is a fault in the test or
        # in the code; other libraries' deprecations are not ours to fail on.
        self.useFixture(fixtures.WarningsCapture())
        warnings.simplefilter('default', ResourceWarning)
