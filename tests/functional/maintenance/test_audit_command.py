# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext audit`` as the Ceph users of the pages run it."""

import contextlib
import json
import re
import shlex
import signal
import socket
import time
from typing import Any
import uuid

import rados
import rbd

from rbd_volume_options import ownership
from rbd_volume_tools.audit import scan
from tests import runs
from tests import tree
from tests.functional.maintenance import object_map_case

_PAGE = tree.ROOT / 'doc' / 'source' / 'admin' / 'security.rst'


def documented_caps(user: str) -> list[str]:
    """Return the capabilities that the page gives to a user."""
    text = _PAGE.read_text().replace('\\\n', ' ')
    (command,) = re.findall(rf'# ceph auth \S+ client\.{user} (.*)', text)
    return shlex.split(command)


class AuditCommandTest(object_map_case.ObjectMapTestCase):
    def audit(
        self, *arguments: str, user: str
    ) -> tuple[int, list[dict[str, Any]]]:
        """Audit as a user of the pages; return the status and the rows."""
        with self.cluster.user(user, *documented_caps(user)) as self.conf:
            self.user = user
            done = self.run_command('audit', *arguments)
        self.messages = done.stderr
        return done.returncode, json.loads(done.stdout or '[]')

    def kinds(self, *arguments: str, user: str) -> set[tuple[str, str]]:
        """Return the kinds and the images of the findings."""
        _, rows = self.audit(*arguments, user=user)
        return {(row['Kind'], row['Image']) for row in rows}

    def ident(self, name: str) -> str:
        """Return librbd's id of an image."""
        with self.cluster.image(name, read_only=True) as image:
            return str(image.id())

    def forget_name(self, name: str) -> str:
        """Remove all that leads to the header of an image; return its id."""
        ioctx, ident = self.cluster.ioctx(), self.ident(name)
        encoded = ownership.encoded
        ioctx.execute(
            'rbd_directory',
            'rbd',
            'dir_remove_image',
            encoded(name) + encoded(ident),
        )
        ioctx.remove_object(f'rbd_id.{name}')
        return ident

    def lose_header(self, name: str) -> str:
        """Remove the name and the header of an image; return its id."""
        ident = self.forget_name(name)
        self.cluster.ioctx().remove_object(f'rbd_header.{ident}')
        return ident

    def test_read_only_user_finds_data_and_headers_that_no_name_leads_to(
        self,
    ) -> None:
        self.volume()
        nameless = self.forget_name(self.make('nameless', 1))
        headless = self.lose_header(self.make('headless', 1))
        without = self.kinds(user='audit')
        self.assertEqual(set(), without, self.messages)
        status, rows = self.audit(
            *('--objects', '--objects-per-second', '1000000'), user='audit'
        )
        self.assertEqual(1, status, self.messages)
        # Ceph lists the objects of earlier tests until it has trimmed their
        # snapshots.
        rows = [
            row
            for row in rows
            if row['Image'].rpartition('.')[2] in (headless, nameless)
        ]
        self.assertEqual(
            {
                ('data-without-header', 'volumes', f'rbd_data.{headless}'),
                ('header-without-entry', 'volumes', f'rbd_header.{nameless}'),
            },
            {(row['Kind'], row['Pool'], row['Image']) for row in rows},
        )
        (lost,) = (row for row in rows if 'data' in row['Kind'])
        self.assertEqual('6 objects', lost['Detail'])

    @runs.tags(runs.NIGHTLY)
    def test_monitors_that_do_not_respond_are_named_at_once(self) -> None:
        """Ceph itself waits for five minutes."""
        with socket.create_server(('127.0.0.1', 0)) as silent:
            place = f'127.0.0.1:{silent.getsockname()[1]}'
            conf = self.folder / 'ceph.conf'
            conf.write_text(
                f'[global]\nmon_host = {place}\nauth_client_required = none\n'
            )
            self.conf = str(conf)
            for command in (
                ('audit',),
                ('audit', '--pool', 'volumes', '--workers', '8'),
                ('object-map', 'plan', '--volumes', '-o', 'plan'),
            ):
                began = time.monotonic()
                done = self.run_command(*command, connect_seconds=2)
                self.assertEqual(3, done.returncode, done.stderr)
                self.assertIn(f'(mon_host) are {place}', done.stderr)
                self.assertIn('RADOS timed out', done.stderr)
                self.assertLess(time.monotonic() - began, 60)

    def test_read_only_user_can_change_nothing(self) -> None:
        name, self.cloud_id = self.volume(), str(uuid.uuid4())
        with self.cluster.user('audit', *documented_caps('audit')) as conf:
            self.conf, self.user = conf, 'audit'
            status, rows = self.marked('volumes')
        self.assertEqual(2, status, self.messages)
        self.assertIn('profile rbd', rows[name]['What to do'])
        self.assertNotIn('Traceback', self.messages)
        self.assertEqual('', self.owner(name))
        with self.cluster.user('audit', *documented_caps('audit')) as conf:
            client = rados.Rados(conffile=conf, rados_id='audit')
            with client, client.open_ioctx('volumes') as ioctx:
                self.assertRaises(
                    rados.Error, ioctx.write_full, 'object', b'content'
                )
                self.assertRaises(
                    rbd.Error, rbd.RBD().create, ioctx, 'other', 2**20
                )

    @runs.tags(runs.NIGHTLY)
    def test_objects_of_pools_that_may_not_be_read_are_named(self) -> None:
        self.volume()
        headless = self.lose_header(self.make('headless', 1))
        status, rows = self.audit('--objects', user='glance')
        self.assertEqual(2, status, self.messages)
        self.assertNotIn('Traceback', self.messages)
        self.assertIn('volumes', self.messages)
        status, rows = self.audit('--objects', user='cinder')
        self.assertEqual(2, status, self.messages)
        self.assertIn(
            ('data-without-header', f'rbd_data.{headless}'),
            {(row['Kind'], row['Image']) for row in rows},
        )

    def marked(self, *pools: str) -> tuple[int, dict[str, dict[str, Any]]]:
        """Plan the marks of images and write them; return the rows."""
        plan = str(self.folder / f'plan-{uuid.uuid4()}')
        words = [word for pool in pools for word in ('--pool', pool)]
        status, rows = self.run_noun('mark', 'plan', '-o', plan, *words)
        self.assertEqual(0, status, self.messages)
        status, made = self.run_noun('mark', 'apply', plan)
        return status, {**rows, **made}

    def owner(self, name: str, pool: str = 'volumes') -> str:
        """Return the owner in the mark of an image."""
        ioctx = self.cluster.ioctx(pool)
        with self.cluster.image(name, pool, read_only=True) as image:
            return ownership.owner_of(
                dict(image.metadata_list()), ioctx.get_pool_id(), image.id()
            )

    def test_mark_is_not_written_to_an_image_that_changed_meanwhile(
        self,
    ) -> None:
        """An unmanage marks it as released before its record is deleted."""
        ioctx = self.cluster.ioctx()
        name = self.volume()
        with self.cluster.image(name) as image:
            ident = image.id()
        before = ownership.text_and_version(rados, ioctx, ident)
        self.assertEqual('', before[0])
        ownership.write(ioctx, ident, ownership.RELEASED)
        self.assertRaises(
            rados.OSError,
            *(ownership.write, ioctx, ident, str(uuid.uuid4()), before[1]),
        )
        self.assertEqual(ownership.RELEASED, self.owner(name))
        text, version = ownership.text_and_version(rados, ioctx, ident)
        self.assertTrue(text.startswith(ownership.RELEASED))
        ownership.write(ioctx, ident, str(uuid.uuid4()), version)

    def test_objects_that_cannot_be_listed_do_not_look_removed(self) -> None:
        """The binding takes an error for the end of the list."""
        caps = 'profile rbd pool=volumes'
        with self.cluster.user('one', 'mon', 'profile rbd', 'osd', caps) as c:
            listed = scan.Cluster(rados, rbd, c, 'one').inventory(
                lambda pool, number: None
            )
        self.assertIn('images', listed.unlisted)
        self.assertNotIn('volumes', listed.unlisted)

    def test_only_unmarked_images_with_a_record_are_marked(self) -> None:
        self.cloud_id = str(uuid.uuid4())
        foreign = str(uuid.uuid4())
        ioctx = self.cluster.ioctx()
        volume, held, other = (self.volume() for _ in range(3))
        ownership.write_named(ioctx, other, foreign)
        self.images.append(str(uuid.uuid4()))
        self.make(self.images[0], 1, 'images')
        self.servers.append(str(uuid.uuid4()))
        disk = self.make(f'{self.servers[0]}_disk', 1)
        orphan = self.make(f'volume-{uuid.uuid4()}', 1)
        unknown = self.make('precious', 1)
        # A volume of the back end whose name another pool has, too.
        self.make(volume, 1, 'images')
        guest = self.start_guest('writes', held)
        status, rows = self.marked('volumes', 'images')
        self.assertEqual((0, 4), (status, len(rows)))
        for name, pool, owner in (
            (volume, 'volumes', self.cloud_id),
            (held, 'volumes', self.cloud_id),
            (disk, 'volumes', self.cloud_id),
            (self.images[0], 'images', self.cloud_id),
            (other, 'volumes', foreign),
            (orphan, 'volumes', ''),
            (unknown, 'volumes', ''),
            (volume, 'images', ''),
        ):
            self.assertEqual(owner, self.owner(name, pool), f'{pool}/{name}')
        # The guest has kept its lock and its data.
        self.assertEqual(guest.stop()[held], self.content(held)[None])
        self.assertEqual((0, {}), self.marked('volumes', 'images'))

    @runs.tags(runs.NIGHTLY)
    def test_lock_of_a_blocked_client_is_shown_until_the_entry_expires(
        self,
    ) -> None:
        """Ceph drops the watch of a client that it blocks at once."""
        name = self.volume()
        guest = self.start_guest('writes', name)
        with self.cluster.image(name, read_only=True) as image:
            address = str(image.list_lockers()['lockers'][0][2])
        command = self.cluster.daemons.command
        command('osd', 'blocklist', 'add', address, '10')
        self.addCleanup(command, 'osd', 'blocklist', 'rm', address)
        self.addCleanup(guest.process.kill)
        guest.process.send_signal(signal.SIGSTOP)
        with self.cluster.image(name, read_only=True) as image:
            self.assertEqual([], list(image.watchers_list()))
        _, (row,) = self.audit(user='audit')
        self.assertEqual(('stale-lock', name), (row['Kind'], row['Image']))
        self.assertRegex(row['Detail'], f'^{address}, blocked until 20')
        for _ in range(60):
            with contextlib.suppress(ValueError):
                if address not in command('osd', 'blocklist', 'ls'):
                    break
            time.sleep(0.5)
        _, (row,) = self.audit(user='audit')
        self.assertEqual(address, row['Detail'])
