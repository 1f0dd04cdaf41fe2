# SPDX-License-Identifier: Apache-2.0

"""Detection of lost connections, and repeated operations."""

import errno
import types
from typing import Any

import ddt

from cinder_rbd_ext.cluster import blocklisting
from tests.fakes import fake_rados
from tests.unit import base

_SHUT_DOWN = fake_rados.OSError(errno.ESHUTDOWN)


class _Driver:
    """A driver whose connection fails."""

    def __init__(self, shares: bool = True, *errors: Exception) -> None:
        self.sharing = types.SimpleNamespace(is_on=shares)
        self.errors = list(errors)
        self.calls: list[Any] = []

    def _call(self, *args: Any) -> Any:
        self.calls.append(args)
        if self.errors:
            raise self.errors.pop(0)
        return args

    def create_volume(self, *args: Any) -> Any:
        """Create a volume, or run another repeatable operation."""
        return self._call(*args)

    create_volume_from_snapshot = create_volume
    create_cloned_volume = create_volume
    delete_volume = create_volume
    delete_snapshot = create_volume
    extend_volume = create_volume
    initialize_connection = create_volume
    _update_volume_stats = create_volume

    def create_snapshot(self, *args: Any) -> Any:
        """Create a snapshot, which is not repeatable."""
        return self._call(*args)


_Repeating = blocklisting.repeating(_Driver)


class NumbersTest(base.TestCase):
    def test_of_causes_and_contexts(self) -> None:
        inner = fake_rados.OSError(110)
        inner.__context__ = _SHUT_DOWN
        error = ValueError('no number')
        error.__cause__ = inner
        inner.__cause__ = error
        self.assertEqual({108, 110}, blocklisting.numbers(error))

    def test_no_error_has_no_numbers(self) -> None:
        self.assertEqual(frozenset(), blocklisting.numbers(None))


@ddt.ddt
class RepeatingTest(base.TestCase):
    def test_operation_is_repeated_after_a_lost_connection(self) -> None:
        driver = _Repeating(True, _SHUT_DOWN)
        self.assertEqual((1,), driver.extend_volume(1))
        self.assertEqual([(1,), (1,)], driver.calls)

    @ddt.data(
        (True, (_SHUT_DOWN, _SHUT_DOWN), 2),
        (True, (fake_rados.OSError(errno.ETIMEDOUT),), 1),
        (True, (ValueError(),), 1),
        (False, (_SHUT_DOWN,), 1),
    )
    @ddt.unpack
    def test_not_repeated(
        self, shares: bool, errors: tuple[Exception, ...], calls: int
    ) -> None:
        """After a timeout, the operation may still have taken effect."""
        driver = _Repeating(shares, *errors)
        self.assertRaises(type(errors[0]), driver.delete_volume, 1)
        self.assertEqual(calls, len(driver.calls))

    def test_method_that_may_not(self) -> None:
        driver = _Repeating(True, _SHUT_DOWN)
        self.assertRaises(fake_rados.OSError, driver.create_snapshot, 1)
