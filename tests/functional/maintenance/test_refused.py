# SPDX-License-Identifier: Apache-2.0

"""Images whose object maps must not be changed now."""

import signal
import time

import rados
import rbd

from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import map_changes
from rbd_volume_tools.fleet import selection
from tests import runs
from tests.functional.maintenance import object_map_case


class RefusedTest(object_map_case.ObjectMapTestCase):
    """Images that must not be changed."""

    def check(self, name: str, detail: str) -> None:
        """Check that an image is refused, and not changed."""
        self.journal.unlink(missing_ok=True)
        self.blocked = self.blocklist()
        with self.cluster.image(name, read_only=True) as image:
            before = image.features()
        status, rows = self.changed('enable', name[7:])
        self.assertEqual(1, status, self.messages)
        self.assertEqual('refused', rows[name]['Status'])
        self.assertIn(detail, rows[name]['Detail'])
        with self.cluster.image(name, read_only=True) as image:
            self.assertEqual(before, image.features())
        self.assertEqual(self.blocked, self.blocklist())

    # Half a minute of waiting each.
    @runs.tags(runs.NIGHTLY)
    def test_open_and_the_lock_is_not_held(self) -> None:
        plain = self.volume(object_map_case.PLAIN)
        locked = self.volume(object_map_case.LOCKED)
        self.start_guest('idle', plain, locked)
        self.check(plain, 'which has no exclusive lock')
        self.check(locked, 'does not hold the lock')

    @runs.tags(runs.NIGHTLY)
    def test_owner_that_does_not_watch(self) -> None:
        """As if its host were cut off: librbd would blocklist it."""
        self.see_vanished_clients(3)
        name = self.volume(object_map_case.LOCKED)
        guest = self.start_guest('writes', name)
        guest.process.send_signal(signal.SIGSTOP)
        with self.cluster.image(name, read_only=True) as image:
            for _ in range(200):
                if not list(image.watchers_list()):
                    break
                time.sleep(0.1)
        self.check(name, 'would blocklist the client')

    def test_owner_that_is_cut_off(self) -> None:
        """It is not for long enough that Ceph drops its watch.

        Without the question whether it answers, librbd in the command would
        wait until then and break the lock.
        """
        name = self.volume(object_map_case.LOCKED)
        self.see_vanished_clients(600)
        guest = self.start_guest('writes', name)
        # The command leaves a watch when it ends.
        self.see_vanished_clients(3)
        blocked = self.blocklist()
        pid = guest.process.pid
        status, _ = self.changed('enable', name[7:], freeze=pid, patience=3)
        self.assertEqual(3, status, self.messages)
        self.assertIn('has stopped answering', self.messages)
        self.see_vanished_clients(600)
        guest.process.send_signal(signal.SIGCONT)
        self.wait_for_watch(name)
        # The owner may still execute what was forwarded to it.
        status, rows = self.changed(
            'enable', name[7:], freeze_before=pid, patience=3
        )
        self.assertEqual(1, status, self.messages)
        self.assertIn('does not answer', rows[name]['Detail'])
        guest.process.send_signal(signal.SIGCONT)
        sums = guest.stop()
        self.assertEqual(sums[name], self.content(name)[None])
        self.assertEqual(blocked, self.blocklist())

    def test_image_that_was_replaced_since_the_plan(self) -> None:
        name = self.volume(object_map_case.PLAIN)
        volume = self.volumes[name[7:]]
        cluster = scan.Cluster(rados, rbd, self.cluster.conf, 'admin')
        known = records.Records(
            {volume.ident: volume},
            *(frozenset(), frozenset(), {volume.pool: 'volumes'}),
        )
        targets, _ = selection.targets(
            cluster,
            ['volumes'],
            known,
            selection.Selection(all_volumes=True),
            lambda *where: None,
        )
        planned = map_changes.planned(decisions.Action.ENABLE, targets, known)
        (item,) = planned
        changes = map_changes.MapChanges(
            *(decisions.Action.ENABLE, known, cluster), lambda ident: volume
        )
        ioctx = self.cluster.ioctx()
        rbd.RBD().rename(ioctx, name, 'former')
        self.make(name, object_map_case.PLAIN)
        error = self.assertRaises(
            outcomes.Refused, changes.make, item, ioctx, frozenset()
        )
        self.assertIs(decisions.REPLACED, error.reason)
        rbd.RBD().remove(ioctx, name)
        self.assertRaises(
            reading.NotRead, changes.make, item, ioctx, frozenset()
        )
        self.assertFalse(self.has_map('former'))
        rbd.RBD().rename(ioctx, 'former', name)
        changes.make(item, ioctx, frozenset())
        self.assertTrue(self.has_map(name))
