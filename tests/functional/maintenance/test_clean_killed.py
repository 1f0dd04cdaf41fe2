# SPDX-License-Identifier: Apache-2.0

"""A plan and its execution are killed at any time, and lose nothing."""

import os
import pathlib
import random
import subprocess
import sys
import time
import uuid

import fixtures
import rados
import rbd
import testtools

from rbd_volume_options import features
from rbd_volume_options import ownership
from rbd_volume_tools.audit import objects
from tests import tree
from tests.functional import ceph
from tests.functional import interruptions

#: Environment variable with the number of kills; more take longer.
KILLS = 'RBD_TEST_KILLS'
_MASK = features.to_mask({features.LAYERING, *features.MAP_ON})
_CLOUD = str(uuid.uuid4())
_NUMBER = 6


class KilledTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.ceph = ceph.shared_cluster()
        self.addCleanup(self.ceph.empty)
        self.addCleanup(self._restore)
        self.useFixture(interruptions.ShortWatch(self.ceph))
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.output = self.folder / 'output'
        # What each step took when it was first not killed.
        self.seconds: dict[str, float] = {}
        self.addOnException(self._add_output)
        # What the test reads is no sign of life.
        interval = 'rbd_atime_update_interval'
        self.ceph.rados.conf_set(interval, '0')
        self.addCleanup(self.ceph.rados.conf_set, interval, '60')
        self.volume = str(uuid.uuid4())
        self.kept = {
            self.image(f'volume-{self.volume}', _CLOUD),
            self.image(f'volume-{uuid.uuid4()}', ''),
        }
        self.garbage = {
            self.image(f'{uuid.uuid4()}_disk', _CLOUD) for _ in range(_NUMBER)
        }
        self._delete_owners()

    def _add_output(self, exc_info: object) -> None:
        lines = self.output.read_text().splitlines()[-100:]
        text = '\n'.join(lines)
        self.addDetail('output', testtools.content.text_content(text))

    def image(self, name: str, mark: str) -> str:
        """Make an image whose data is its name."""
        ioctx = self.ceph.ioctx()
        rbd.RBD().create(ioctx, name, 2**23, old_format=False, features=_MASK)
        if mark:
            ownership.write_named(ioctx, name, mark)
        with self.ceph.image(name) as image:
            image.write(name.encode(), 2**22)
        return name

    def _restore(self) -> None:
        ioctx = self.ceph.ioctx()
        for entry in self.trashed():
            if not entry.is_settled:
                rbd.RBD().trash_move(ioctx, entry.name, 0)
            rbd.RBD().trash_restore(ioctx, entry.ident, entry.name)

    def run_step(self, step: str, kill_after: float | None = None) -> bool:
        """Run a step, or kill it; return whether it ended before.

        The seconds of an execution count from its first removal.

        :param kill_after: seconds
        """
        with self.output.open('a') as output:
            output.write(f'{step} {kill_after or ""}\n')
            output.flush()
            process = subprocess.Popen(
                [
                    *(sys.executable, '-m'),
                    'tests.functional.maintenance.clean_process',
                    *(self.ceph.conf, str(self.folder)),
                    *(_CLOUD, self.volume, step),
                ],
                cwd=tree.ROOT,
                stdout=output,
            )
        if step == 'apply':
            self._wait_for_removal(process)
        began = time.monotonic()
        try:
            self.assertEqual(0, process.wait(kill_after))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
        self.seconds.setdefault(step, time.monotonic() - began)
        return True

    def _wait_for_removal(self, process: subprocess.Popen[bytes]) -> None:
        size = self._journal_size()
        while process.poll() is None and self._journal_size() == size:
            time.sleep(0.002)

    def _journal_size(self) -> int:
        path = self.folder / 'journal'
        return path.stat().st_size if path.exists() else 0

    def trash(self) -> dict[str, str]:
        """Return the ids in the trash by the names of the images."""
        return {entry.name: entry.ident for entry in self.trashed()}

    def trashed(self) -> list[objects.Trashed]:
        """Return the entries of this test, not of others, in the trash."""
        entries = objects.trash(rados, self.ceph.ioctx(), 'volumes')
        own = self.kept | self.garbage
        return [entry for entry in entries if entry.name in own]

    def verify(self) -> None:
        """Check that each image is complete, in the pool or in the trash."""
        ioctx = self.ceph.ioctx()
        trash, directory = self.trash(), objects.directory(rados, ioctx)
        self.assertLessEqual(self.kept, directory.keys() - trash.keys())
        for name in self.kept | self.garbage:
            ident = trash.get(name) or directory[name]
            with rbd.Image(ioctx, image_id=ident, read_only=True) as image:
                self.assertEqual(name.encode(), image.read(2**22, len(name)))

    def test_kill_at_any_time_loses_nothing_and_is_resumed(self) -> None:
        seed = random.randrange(2**32)
        self.addDetail('seed', testtools.content.text_content(str(seed)))
        choice = random.Random(seed)
        wanted = int(os.environ.get(KILLS, 3))
        killed = 0
        for step in ('plan', 'apply'):
            self.assertTrue(self.run_step(step))
        self._begin_again()
        while killed < wanted:
            self.assertTrue(self.run_step('plan'))
            # The first kill is in a plan, the others in its execution.
            for step, least in (('plan', 0.3), *[('apply', 0)] * _NUMBER):
                part = choice.uniform(least, 0.9)
                if killed < wanted and self.garbage - self.trash().keys():
                    killed += not self.run_step(
                        step, part * self.seconds[step]
                    )
                    self.verify()
            # What the killed runs began is completed, or in the next plan.
            for step in ('apply', 'plan', 'apply', 'plan', 'apply'):
                if self.is_clean():
                    break
                self.run_step(step)
            self.verify()
            self.assertEqual(self.garbage, set(self.trash()))
            self.assertTrue(self.is_clean())
            self._begin_again()

    def _delete_owners(self) -> None:
        # An image that was created or restored later is kept.
        time.sleep(1.1)
        (self.folder / 'deleted').touch()

    def _begin_again(self) -> None:
        self._restore()
        self._delete_owners()
        (self.folder / 'journal').unlink(missing_ok=True)

    def is_clean(self) -> bool:
        """Return whether all garbage is in the trash, and has no name."""
        names = objects.directory(rados, self.ceph.ioctx()).keys()
        trash = self.trashed()
        return (
            not self.garbage & names
            and self.garbage == {each.name for each in trash}
            and all(each.is_settled for each in trash)
        )
