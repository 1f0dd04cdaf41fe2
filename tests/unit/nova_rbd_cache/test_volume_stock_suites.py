# SPDX-License-Identifier: Apache-2.0

"""Nova's tests of its volume drivers, run with the suite's class.

Nova's wheel contains these tests. All of them run here.
"""

import sys
from typing import Any
import unittest

import fixtures
from nova.tests.unit.virt.libvirt.volume import test_net
from nova.tests.unit.virt.libvirt.volume import test_volume
from nova.virt.libvirt import driver
from nova.virt.libvirt.volume import net

from nova_rbd_cache import contract
from nova_rbd_cache import volume


class _OurDriver:
    """The stock driver's module, with its class replaced."""

    LibvirtNetVolumeDriver = volume.RBDCacheVolumeDriver

    def __getattr__(self, name: str) -> Any:
        return getattr(net, name)


def _with_our_class(suite: type[unittest.TestCase]) -> type:
    """Return a test class of Nova that uses the suite's driver."""

    def set_up(self: Any) -> None:
        suite.setUp(self)
        ours = {**driver.VOLUME_DRIVERS, 'rbd': contract.OUR_DRIVER}
        for holder, name, value in (
            (test_net, 'net', _OurDriver()),
            (driver, 'VOLUME_DRIVERS', ours),
        ):
            self.useFixture(fixtures.MockPatchObject(holder, name, value))

    return type(
        f'{suite.__name__}OnOurs',
        (suite,),
        {'setUp': set_up, '__module__': __name__},
    )


_SUITES = [
    member
    for module in (test_net, test_volume)
    for name, member in sorted(vars(module).items())
    if isinstance(member, type)
    and issubclass(member, unittest.TestCase)
    and member.__module__ == module.__name__
]
_OURS = {suite.__name__: suite for suite in map(_with_our_class, _SUITES)}
# The test runner looks them up by name in the module.
vars(sys.modules[__name__]).update(
    {suite.__name__: suite for suite in _OURS.values()}
)


class SuitesTest(unittest.TestCase):
    """Check that there are tests and that they use the suite's driver."""

    def test_stock_suites_have_twenty_tests_or_more(self) -> None:
        loader = unittest.defaultTestLoader
        number = sum(
            loader.loadTestsFromTestCase(suite).countTestCases()
            for suite in _OURS.values()
        )
        self.assertGreaterEqual(number, 20)

    def test_on_our_class(self) -> None:
        used: list[type] = []

        suite = _OURS['LibvirtNetVolumeDriverTestCaseOnOurs']

        def test(self: Any) -> None:
            used.append(test_net.net.LibvirtNetVolumeDriver)

        seen: Any = type('Seen', (suite,), {'test': test})
        result = unittest.TestResult()
        seen('test').run(result)
        self.assertTrue(result.wasSuccessful(), result.errors)
        self.assertEqual([volume.RBDCacheVolumeDriver], used)


def load_tests(
    loader: unittest.TestLoader, tests: Any, pattern: str | None
) -> unittest.TestSuite:
    """Load the classes created here, not the imported modules."""
    return unittest.TestSuite(
        loader.loadTestsFromTestCase(suite)
        for suite in (*_OURS.values(), SuitesTest)
    )
