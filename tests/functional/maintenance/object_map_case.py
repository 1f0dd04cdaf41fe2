# SPDX-License-Identifier: Apache-2.0

"""Images without an object map, guests that use them, and the command."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any
import uuid

import fixtures
import rbd
import testtools

from rbd_volume_options import features
from rbd_volume_tools.audit import records
from tests import tree
from tests.functional import ceph
from tests.functional.maintenance import operator_commands

PLAIN = features.to_mask({features.LAYERING})
LOCKED = features.to_mask({features.LAYERING, features.EXCLUSIVE_LOCK})
SIZE = 2**20
ORDER = 16
_FOLDER = 'tests.functional.maintenance'
_BACKEND = 'host@rbd#rbd'


class Guest:
    """A client in a process, which works in a folder."""

    def __init__(self, conf: str, folder: pathlib.Path, *args: str) -> None:
        self._folder = folder
        command = [sys.executable, '-m', f'{_FOLDER}.guest_process']
        environ = {**os.environ, 'PYTHONPATH': str(tree.ROOT)}
        with (folder / 'log').open('w') as log:
            self.process = subprocess.Popen(
                [*command, conf, *args], cwd=folder, env=environ, stderr=log
            )

    def wait_for(self, name: str) -> str:
        """Wait for a file and return its content."""
        path = self._folder / name
        for _ in range(3000):
            if path.exists():
                return path.read_text()
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError((self._folder / 'log').read_text())

    def stop(self) -> dict[str, str]:
        """End it; return the SHA-256 of each image as it must be."""
        (self._folder / 'stop').touch()
        lines = self.wait_for('sums').splitlines()
        self.process.wait()
        return dict(line.split() for line in lines)

    def end(self) -> None:
        """End it, so that it has no image open; kill it only if it hangs."""
        (self._folder / 'stop').touch()
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class ObjectMapTestCase(testtools.TestCase):
    """Images without a map, their records, and the command."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = ceph.shared_cluster()
        self.addCleanup(self.cluster.empty)
        self.addCleanup(self._wait_for_vanished_clients)
        self.volumes: dict[str, records.Volume] = {}
        self.images: list[str] = []
        self.servers: list[str] = []
        self.types: dict[str, dict[str, str]] = {}
        self.cloud_id = ''
        self.conf, self.user = self.cluster.conf, 'admin'
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.journal = self.folder / 'journal'

    def _wait_for_vanished_clients(self) -> None:
        """Wait until images that were open can be removed."""
        for _ in range(400):
            if not any(
                self._watchers(name, pool)
                for pool in ('volumes', 'images')
                for name in self.cluster.names(pool)
            ):
                return
            time.sleep(0.1)

    def wait_for_watch(self, name: str) -> None:
        """Wait until a client watches an image, again."""
        for _ in range(300):
            if self._watchers(name, 'volumes'):
                return
            time.sleep(0.1)

    def _watchers(self, name: str, pool: str) -> int:
        with self.cluster.image(name, pool, read_only=True) as image:
            return len(list(image.watchers_list()))

    def see_vanished_clients(self, seconds: int) -> None:
        """Set for how long Ceph sees clients that vanish from now on.

        librbd shows that it is there every 5 seconds.
        """
        words = {'prefix': 'config set', 'who': 'osd'}
        name = 'osd_client_watch_timeout'
        self.command(**words, name=name, value=str(seconds))
        self.addCleanup(self.command, **words, name=name, value='30')

    def command(self, **words: str) -> str:
        """Run a command of the monitors and return its output."""
        status, output, message = self.cluster.rados.mon_command(
            json.dumps(words), b''
        )
        self.assertEqual(0, status, message)
        return str(output.decode())

    def blocklist(self) -> list[str]:
        """Return the addresses that Ceph has blocked."""
        lines = self.command(prefix='osd blocklist ls').splitlines()
        return [line.split()[0] for line in lines]

    def make(self, name: str, mask: int, pool: str = 'volumes') -> str:
        """Make an image with data in every third object."""
        rbd.RBD().create(
            self.cluster.ioctx(pool),
            name,
            SIZE,
            ORDER,
            old_format=False,
            features=mask,
        )
        with self.cluster.image(name, pool) as image:
            for at in range(0, SIZE, 3 << ORDER):
                image.write(os.urandom(4096), at)
        return name

    def volume(self, mask: int = LOCKED, **values: Any) -> str:
        """Make a volume and return the name of its image."""
        ident = str(uuid.uuid4())
        fields = {'volume_type': 'type', 'status': 'available', **values}
        self.volumes[ident] = records.Volume(
            ident, ident, 'project', pool=_BACKEND, **fields
        )
        return self.make(f'volume-{ident}', mask)

    def snapshot(self, name: str, snapshot: str, pool: str = 'volumes') -> str:
        """Take a snapshot, and write to the head."""
        with self.cluster.image(name, pool) as image:
            image.create_snap(snapshot)
            image.write(os.urandom(4096), 5 << ORDER)
        return snapshot

    def start_command(
        self, *arguments: str, **settings: int
    ) -> 'subprocess.Popen[str]':
        """Start ``cinder-rbd-ext`` with the records."""
        known = records.Records(
            self.volumes,
            frozenset(),
            frozenset(),
            {_BACKEND: 'volumes'},
            frozenset(self.images),
            frozenset(self.servers),
            self.types,
            cloud_id=self.cloud_id,
            located={each: frozenset({'images'}) for each in self.images},
        )
        path = self.folder / 'records'
        path.write_text(operator_commands.as_json(known))
        return subprocess.Popen(
            [
                *(sys.executable, '-m', f'{_FOLDER}.operator_commands'),
                *(json.dumps(settings), str(path), *arguments),
                *('-f', 'json', '--ceph-conf', self.conf),
                *('--ceph-user', self.user),
            ],
            cwd=tree.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_command(
        self, *arguments: str, **settings: int
    ) -> subprocess.CompletedProcess[str]:
        """Run ``cinder-rbd-ext`` with the records."""
        self.process = self.start_command(*arguments, **settings)
        output, messages = self.process.communicate()
        return subprocess.CompletedProcess(
            [], self.process.returncode, output, messages
        )

    def run_noun(
        self, noun: str, action: str, *arguments: str, **settings: int
    ) -> tuple[int, dict[str, dict[str, Any]]]:
        """Run a command and return its status and its rows by image."""
        done = self.run_command(noun, action, *arguments, **settings)
        self.messages = done.stderr
        if done.returncode not in (0, 1, 2):
            return done.returncode, {}
        rows = json.loads(done.stdout)
        return done.returncode, {row['Image']: row for row in rows}

    def changed(
        self, action: str, *arguments: str, **settings: int
    ) -> tuple[int, dict[str, dict[str, Any]]]:
        """Plan a change and apply it, with the journal; return all rows.

        A journal that exists is that of a run of the same plan.
        """
        plan = self.folder / 'plan'
        status = 0
        rows: dict[str, dict[str, Any]] = {}
        if not self.journal.exists():
            plan.unlink(missing_ok=True)
            status, rows = self.planned(action, *arguments)
        applied, made = self.run_noun(
            'object-map',
            'apply',
            *(str(plan), '--journal', str(self.journal)),
            **settings,
        )
        return applied or status, {**rows, **made}

    def planned(
        self, action: str, *arguments: str
    ) -> tuple[int, dict[str, dict[str, Any]]]:
        """Plan a change of object maps; return the status and the rows."""
        plan = str(self.folder / 'plan')
        return self.run_noun(
            'object-map',
            'plan',
            *('--action', action, '-o', plan, *arguments),
        )

    def start_guest(self, mode: str, *names: str) -> Guest:
        """Start a client that has images open."""
        guest = Guest(self.cluster.conf, self.folder, mode, *names)
        self.addCleanup(guest.end)
        guest.wait_for('ready')
        return guest

    def content(
        self, name: str, pool: str = 'volumes'
    ) -> dict[str | None, str]:
        """Return the SHA-256 of an image and of its snapshots."""
        with self.cluster.image(name, pool, read_only=True) as image:
            snapshots = [each['name'] for each in image.list_snaps()]
        digests = {}
        for snapshot in (None, *snapshots):
            with self.cluster.image(
                name, pool, snapshot=snapshot, read_only=True
            ) as image:
                data = image.read(0, image.size())
            digests[snapshot] = hashlib.sha256(data).hexdigest()
        return digests

    def flags(self, name: str, pool: str = 'volumes') -> set[int]:
        """Return the flags of an image and of its snapshots."""
        flags = set()
        with self.cluster.image(name, pool, read_only=True) as image:
            flags.add(image.flags())
            for each in list(image.list_snaps()):
                image.set_snap(each['name'])
                flags.add(image.flags())
                image.set_snap(None)
        return flags

    def has_map(self, name: str, pool: str = 'volumes') -> bool:
        """Return whether an image has all features that a map needs."""
        with self.cluster.image(name, pool, read_only=True) as image:
            enabled = features.from_mask(image.features())
        return enabled >= features.MAP_ON
