# SPDX-License-Identifier: Apache-2.0

"""What stands in the way of a removal, on a real cluster."""

import signal

from tests.functional import interruptions
from tests.functional.maintenance import clean_case


class SnapshotTest(clean_case.CleanTestCase):
    """The snapshot of a deleted clone, of a volume that Cinder has."""

    def setUp(self) -> None:
        super().setUp()
        gone = self.services.volume_row(self._uuid())
        self.leftover = self.snapshot(self.live, f'volume-{gone}.clone_snap')
        self.services.delete_now()

    def test_client_that_is_cut_off_keeps_its_lock(self) -> None:
        """Its server may still run. librbd would blocklist it."""
        with interruptions.ShortWatch(self.ceph):
            client = self.cut_off(self.live, signal.SIGSTOP)
        self.breaks_locks = True
        planned = self.plan()
        self.apply(planned)
        client.send_signal(signal.SIGCONT)
        self.assertEqual(0, client.wait(60))
        self.expect(planned, self.leftover, 'lock-owner-gone')
