# SPDX-License-Identifier: Apache-2.0

"""Commands for object maps are killed at any time, and lose nothing."""

import os
import random
import threading
import time

import testtools

from rbd_volume_options import features
from tests import runs
from tests.functional.maintenance import object_map_case
from tests.functional.maintenance import test_clean_killed

_MAPS = features.to_mask(features.MAP_OFF)
# Seconds until a run after a kill has changed every image.
_LONGEST = 60


# Minutes; clean, which removes images, is killed in each run.
@runs.tags(runs.NIGHTLY)
class KilledTest(object_map_case.ObjectMapTestCase):
    def setUp(self) -> None:
        super().setUp()
        seed = random.randrange(2**32)
        self.addDetail('seed', testtools.content.text_content(str(seed)))
        self.choice = random.Random(seed)
        self.left = int(os.environ.get(test_clean_killed.KILLS, 1))
        self.closed = [
            self.volume(mask)
            for mask in (
                object_map_case.PLAIN,
                object_map_case.LOCKED,
                object_map_case.LOCKED,
            )
        ]
        self.opened = self.volume(status='in-use')
        self.names = [*self.closed, self.opened]
        for name in (self.closed[1], self.opened):
            self.snapshot(name, 'one')
        # On a busy machine, the guest may be late to renew its watch, and the
        # command then refuses the image.
        self.see_vanished_clients(600)
        self.guest = self.start_guest('writes', self.opened)
        # As soon as possible, the watch of a killed run expires.
        self.see_vanished_clients(7)
        self.before = {name: self.content(name) for name in self.names}

    def kill_in(self, action: str) -> None:
        """Kill a run at a random moment after it has begun an image."""
        size = self._journal_size()
        done = threading.Event()
        kill = threading.Thread(target=self._kill, args=(size, done))
        kill.start()
        try:
            status, _ = self.changed(action, '--volumes')
        finally:
            done.set()
            kill.join()
        self.assertIn(status, (0, -9), self.messages)
        self.left -= status == -9

    def _kill(self, size: int, done: threading.Event) -> None:
        while self._journal_size() == size:
            if done.wait(0.002):
                return
        time.sleep(self.choice.uniform(0, 0.4))
        if not done.is_set():
            self.process.kill()

    def _journal_size(self) -> int:
        return self.journal.stat().st_size if self.journal.exists() else 0

    def verify(self) -> None:
        """Check what the closed images contain, and that the guest lives."""
        self.assertIsNone(self.guest.process.poll())
        for name in self.closed:
            self.assertEqual(self.before[name], self.content(name))
        for snapshot in filter(None, self.before[self.opened]):
            self.assertEqual(
                self.before[self.opened][snapshot],
                self.content(self.opened)[snapshot],
            )

    def change(self, action: str, has_map: bool) -> None:
        """Kill runs, and then let one end."""
        for _ in range(self.choice.randint(1, 3)):
            if self.left > 0:
                self.kill_in(action)
                self.verify()
        # The watch of the killed run expires, the guest then breaks its lock,
        # and a client may answer late: the image is refused until then.
        until = time.monotonic() + _LONGEST
        while True:
            status, rows = self.changed(action, '--volumes')
            if status == 0 or time.monotonic() > until:
                break
            self.verify()
        self.assertEqual(0, status, f'{self.messages} {rows}')
        for name in self.names:
            self.assertEqual(has_map, self.has_map(name), name)
            self.assertEqual({0}, self.flags(name), name)
        self.verify()
        self.journal.unlink()

    def invalidate(self) -> None:
        """Make the maps of the closed images invalid."""
        for name in self.closed:
            with self.cluster.image(name) as image:
                image.update_features(_MAPS, False)
                image.update_features(_MAPS, True)

    def test_kill_at_any_time_loses_nothing_and_is_resumed(self) -> None:
        while self.left > 0:
            self.change('enable', True)
            if self.left > 0:
                self.invalidate()
                self.change('rebuild', True)
                self.change('disable', False)
        sums = self.guest.stop()
        self.assertEqual(sums[self.opened], self.content(self.opened)[None])
