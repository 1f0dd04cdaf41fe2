# SPDX-License-Identifier: Apache-2.0

"""Tests for ``cinder-rbd-ext retype``."""

from collections.abc import Iterator
import contextlib
import json
import pathlib
import subprocess
import time
from typing import Any

import fixtures
import rados
import rbd

from tests import rbd_content
from tests import runs
from tests.cloud import base
from tests.cloud import documented

# The user that reads the health of the cluster.
_CEPH = ('--ceph-user', 'admin')
_STRIPED = {
    'rbd_stripe_unit': '64K',
    'rbd_stripe_count': '8',
    'rbd_object_map': 'true',
}
_HOST = {'mountpoint': '/dev/vdb', 'host_name': 'host'}


@contextlib.contextmanager
def _opened(name: str, read_only: bool = True) -> Iterator[Any]:
    with (
        rados.Rados(conffile='', rados_id='admin') as client,
        client.open_ioctx('volumes') as ioctx,
        rbd.Image(ioctx, name, read_only=read_only) as image,
    ):
        yield image


def _sums(name: str) -> dict[str, str]:
    with _opened(name) as image:
        return rbd_content.sums(image)


class RetypesTest(base.CloudTestCase):
    """Many volumes get another layout."""

    def begin(self, *words: str) -> 'subprocess.Popen[str]':
        """Start the command as the operator."""
        environ = 'eval "$(tools/sandbox env --cloud admin)"'
        command = f'exec cinder-rbd-ext retype {" ".join(words)} -f json'
        return subprocess.Popen(
            ['bash', '-euc', f'{environ}; {command}'],
            cwd=documented.ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_command(
        self, *words: str, status: int
    ) -> dict[str, dict[str, Any]]:
        """Run a command; return its rows by volume."""
        process = self.begin(*words)
        out, err = process.communicate()
        self.assertEqual(status, process.returncode, err)
        return {row['Volume']: row for row in json.loads(out)}

    def planned(self, *words: str) -> str:
        """Make a plan and return its path."""
        plan = str(pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'p'))
        self.run_command('plan', '-o', plan, *words, status=0)
        return plan

    def retype(self, *words: str, status: int) -> dict[str, dict[str, Any]]:
        """Plan retypes and make them; return the rows by volume."""
        plan = self.planned(*words)
        return self.run_command('apply', plan, *_CEPH, status=status)

    def filled(self, volume_type: str, place: int) -> str:
        """Return a volume with data and a snapshot with other data."""
        volume = self.created(volume_type=volume_type)
        for at in (place, 500 + place):
            with _opened(f'volume-{volume}', read_only=False) as image:
                rbd_content.write(image, at, 4)
            if at == place:
                self.snapshot(volume)
        return volume

    @runs.tags(runs.NIGHTLY)
    def test_killed_half_way(self) -> None:
        former = self.make_type(rbd_object_map='false')
        target = self.make_type(**_STRIPED)
        volumes = [self.filled(former, n) for n in range(6)]
        before = {each: _sums(self.image_name(each)) for each in volumes}
        plan = self.planned('--from', former, '--to', target)
        journal = pathlib.Path(f'{plan}.journal')
        process = self.begin('apply', plan, '--at-once', '2', *_CEPH)
        self.until(lambda: self._is_half_way(journal))
        process.kill()
        process.communicate()
        done = journal.read_text().count('"status": "done"')
        self.assertLess(done, len(volumes))
        rows = self.run_command('apply', plan, *_CEPH, status=0)
        self.assertCountEqual(volumes, rows)
        statuses = [each['Status'] for each in rows.values()]
        self.assertEqual({'done', 'done earlier'}, set(statuses))
        self.assertEqual(done, statuses.count('done earlier'))
        for volume in volumes:
            info = self.info(volume)
            self.assertEqual(8, info['stripe_count'])
            self.assertEqual([], info['flags'])
            self.assertEqual(before[volume], _sums(self.image_name(volume)))

    def _is_half_way(self, journal: pathlib.Path) -> bool:
        time.sleep(0.05)
        return journal.exists() and '"status": "done"' in journal.read_text()

    def test_attached_volume(self) -> None:
        """Its layout is not changed; its features are, without a layout."""
        former = self.make_type(rbd_object_map='false')
        target = self.make_type(**_STRIPED)
        mapped = self.make_type(rbd_object_map='true')
        volume = self.created(volume_type=former)
        self.action(volume, self.operator, **{'os-attach': _HOST})
        detach: dict[str, Any] = {'os-detach': {}}
        self.addCleanup(self.action, volume, self.operator, **detach)
        rows = self.retype(
            *('--from', former, '--to', target, volume), status=1
        )
        self.assertIn('detach the volume', rows[volume]['Detail'])
        self.retype(*('--from', former, '--to', mapped, volume), status=0)
        self.assertIn('object-map', self.info(volume)['features'])
        # A type can be deleted only when no volume has it.
        self.action(volume, self.operator, **detach)

    @runs.tags(runs.NIGHTLY)
    def test_stock_back_end(self) -> None:
        """Only a migration by Cinder moves a volume to another pool."""
        stock = self.make_type(volume_backend_name='stock')
        target = self.make_type(**_STRIPED)
        volume = self.created(volume_type=stock)
        words = ('--from', stock, '--to', target, volume)
        rows = self.retype(*words, status=1)
        self.assertEqual('refused', rows[volume]['Status'])
        self.retype(*words, '--migration-policy', 'on-demand', status=0)
        self.assertEqual(8, self.info(volume)['stripe_count'])
