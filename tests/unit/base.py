# SPDX-License-Identifier: Apache-2.0

"""The base class of all tests of the suite."""

import logging
import os
import warnings

import fixtures
from openstack import exceptions
import testtools

_TRUE = ('1', 'true', 'yes')

# Horizon's test data replaces methods of this class for the whole process.
_SDK_ERROR = dict(vars(exceptions.SDKException))


def _asked(name: str) -> bool:
    return os.environ.get(name, '').lower() in _TRUE


class TestCase(testtools.TestCase):
    """Capture logs and output, and keep files in a temporary directory.

    ``self.log.output`` has the log messages.
    """

    #: Timeout in seconds; a subclass that uses a real service may have a
    #: larger one. OS_TEST_TIMEOUT overrides it for every test.
    timeout = 60

    def setUp(self) -> None:
        super().setUp()
        for name in ('__init__', '__str__'):
            if name in _SDK_ERROR:
                setattr(exceptions.SDKException, name, _SDK_ERROR[name])
            elif name in vars(exceptions.SDKException):
                delattr(exceptions.SDKException, name)
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
        # A resource that is left open is a fault in the test or in the code.
        # Deprecations in other libraries are not.
        self.useFixture(fixtures.WarningsCapture())
        warnings.simplefilter('default', ResourceWarning)
