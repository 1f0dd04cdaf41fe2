# SPDX-License-Identifier: Apache-2.0

from unittest import mock

from oslotest import base

from cinder_rbd_ext.retype import failures


class FailuresTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.failures = failures.Failures()

    def _fails(self, error: Exception, times: int = 1) -> list[bool]:
        """Fail; return for each log line whether it has a traceback."""
        with self.assertLogs('cinder_rbd_ext.retype.failures') as logged:
            for number in range(times):
                try:
                    raise error
                except Exception:
                    self.failures.log('Volume %(id)s', {'id': number})
        self.assertIn(f'Volume 0: {error}', logged.output[0])
        return [bool(record.exc_info) for record in logged.records]

    def test_only_the_first_failure_has_a_traceback(self) -> None:
        seen = self._fails(PermissionError('refused'), 3)
        self.assertEqual([True, False, False], seen)

    def test_another_cause_has_its_own_traceback(self) -> None:
        self._fails(PermissionError('refused'))
        self.assertEqual([True], self._fails(OSError('down')))
        self.assertEqual([False], self._fails(PermissionError('refused')))

    def test_failure_after_a_quiet_time_has_a_traceback(self) -> None:
        with mock.patch.object(failures, 'QUIET', -1.0):
            seen = self._fails(OSError('down'), 2)
        self.assertEqual([True, True], seen)
