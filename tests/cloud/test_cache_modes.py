# SPDX-License-Identifier: Apache-2.0

"""Test cache modes of volumes on a real server.

The modes are checked in libvirt, QEMU and librbd.
"""

from collections.abc import Callable
import dataclasses

from sandbox_cloud import state
from tests import runs
from tests.cloud import librbd_sockets
from tests.cloud import nova_compute
from tests.cloud import servers

_REFUSED = 'os-rbd-volume-options:attach_refused'


@dataclasses.dataclass(frozen=True)
class Effect:
    """The effects of a cache mode.

    :ivar rbd_cache: whether librbd caches
    :ivar guest: the type of write cache that the guest sees: the guest flushes
        a write-back cache; otherwise, QEMU flushes for it
    """

    rbd_cache: bool
    guest: str


#: The effects of each mode; all are different.
EFFECTS = {
    'none': Effect(False, 'write-back'),
    'writethrough': Effect(True, 'write-through'),
    'writeback': Effect(True, 'write-back'),
    'directsync': Effect(False, 'write-through'),
}


class CacheModeTestCase(servers.ServerTestCase):
    def volume(self, mode: str | None, **values: object) -> str:
        """Create a volume that requests a cache mode, if one is given."""
        metadata = {'rbd:cache_mode': mode} if mode else {}
        return self.created(metadata=metadata, **values)

    def modes(self, server: str, volumes: list[str]) -> list[str | None]:
        """Return the cache modes of volumes in the guest's XML."""
        return [self.cache_mode(server, volume) for volume in volumes]

    def image_of(self, volume: str) -> str:
        """Return the pool and the name of a volume's RBD image."""
        return f'volumes/volume-{volume}'

    def check_refused_by_nova(
        self, server: str, volume: str, words: str, times: int = 1
    ) -> None:
        """Check that Nova refuses an attachment and leaves nothing behind.

        :param server: a server without volumes
        :param words: a part of the reason
        :param times: how often Nova tries
        """
        body = {'volumeAttachment': {'volumeId': volume}}
        path = f'/servers/{server}/os-volume_attachments'
        self.compute('POST', path, body)
        refused = self.until(lambda: self.show(volume)[_REFUSED])
        self.assertIn(words, refused['reason'])
        self.wait_for(volume)
        self.assertEqual([], self.show(volume)['attachments'])
        self.assertEqual('ACTIVE', self.wait_for_server(server)['status'])
        # Nova deletes its record after Cinder does.
        self.until(lambda: volume not in self._attached_to(server))
        self.check_tries(volume, times)

    def _attached_to(self, server: str) -> set[str]:
        path = f'/servers/{server}/os-volume_attachments'
        attached = self.compute('GET', path)['volumeAttachments']
        return {each['volumeId'] for each in attached}

    def check_tries(self, volume: str, times: int = 1) -> None:
        """Check how often Nova tried the attachment."""
        place = state.State(state.default_root())
        lines = [
            line
            for log in place.log.glob('cinder-*.log')
            for line in log.read_text(errors='replace').splitlines()
            if f'Volume {volume} is not attached' in line
        ]
        self.assertEqual(times, len(lines), str(lines))


# Tempest attaches with each mode.
@runs.tags(runs.NIGHTLY)
class EachModeTest(CacheModeTestCase):
    """Volumes of one server, with cache modes from different sources."""

    def _refresh(self, server: str, volumes: list[str]) -> None:
        """Refresh two attachments, as after a change of the monitors."""
        host = self.server(server)['OS-EXT-SRV-ATTR:host']
        stock = nova_compute.run(
            *('nova-manage', 'volume_attachment', 'get_connector', '--json'),
            host=host,
        )
        ours = nova_compute.run('nova-rbd-cache', 'connector', host=host)
        self.assertNotIn('rbd_host', stock)
        self.assertIn('rbd_host', ours)
        for volume, connector in zip(volumes[1:], (stock, ours), strict=False):
            nova_compute.refresh(server, volume, connector)

    def ways(
        self, server: str, volumes: list[str]
    ) -> dict[str, Callable[[], object]]:
        """Return the actions that recreate the server's guest."""

        def after(status: str, **action: object) -> None:
            self.server_action(server, **action)
            self.wait_for_server(server, status)

        def start() -> None:
            self._refresh(server, volumes)
            after('ACTIVE', **{'os-start': None})

        return {
            'hard reboot': lambda: self.hard_reboot(server),
            'stop': lambda: after('SHUTOFF', **{'os-stop': None}),
            'refresh and start': start,
            'rebuild': lambda: after(
                'ACTIVE', rebuild={'imageRef': self.image()}
            ),
        }

    def test_modes_and_what_they_come_to(self) -> None:
        server = self.boot()
        volumes = [self.volume(mode) for mode in (*EFFECTS, None)]
        kind = self.make_type(rbd_cache_mode='writethrough')
        shared = self.created(volume_type='rbd-multiattach')
        volumes += [self.created(volume_type=kind), shared]
        for volume in volumes:
            self.attach(server, volume)
        expected = [*EFFECTS, 'none', 'writethrough', 'none']
        self.assertEqual(expected, self.modes(server, volumes))
        self.assertIsNotNone(self.disk_xml(server, shared).find('shareable'))
        for volume, effect in zip(volumes, EFFECTS.values(), strict=False):
            self._check_effect(server, volume, effect)
        seen = {}
        ways = self.ways(server, volumes)
        for name, go in ways.items():
            go()
            seen[name] = self.modes(server, volumes)
        self.assertEqual(dict.fromkeys(ways, expected), seen)
        # Check librbd again, for a guest that started with its disks.
        cached = [
            librbd_sockets.disk(self.image_of(volume)).rbd_cache
            for volume in volumes[:5]
        ]
        self.assertEqual([False, True, True, False, False], cached)
        self._check_change(server, volumes[0])

    def _check_effect(
        self, server: str, volume: str, expected: Effect
    ) -> None:
        disk = librbd_sockets.disk(self.image_of(volume))
        before = disk.counters
        self.check_guest_writes(server, volume)
        after = disk.counters
        guest = self.seen_by_guest(server, volume)['cache']
        self.assertEqual(expected, Effect(disk.rbd_cache, guest))
        # The flush reaches librbd, whether the guest or QEMU sends it.
        self.assertGreater(after['wr'], before['wr'])
        self.assertGreater(after['flush'], before['flush'])

    def _check_change(self, server: str, volume: str) -> None:
        """Check that a change takes effect at the next attachment."""
        changed = {'metadata': {'rbd:cache_mode': 'writeback'}}
        self.request('POST', f'/volumes/{volume}/metadata', changed)
        self.hard_reboot(server)
        self.assertEqual('none', self.cache_mode(server, volume))
        self.detach(server, volume)
        self.attach(server, volume)
        self.assertEqual('writeback', self.cache_mode(server, volume))


@runs.tags(runs.RELEASES)
class BootTest(CacheModeTestCase):
    def test_boot_from_volume(self) -> None:
        volume = self.volume('writeback', imageRef=self.image())
        server = self.boot(volume)
        self.assertEqual(['writeback'], self.modes(server, [volume]))
        self.assertEqual('vda', self.seen_by_guest(server, volume)['disk'])
        disk = librbd_sockets.disk(self.image_of(volume))
        self.assertTrue(disk.rbd_cache)
        self.hard_reboot(server)
        self.assertEqual(['writeback'], self.modes(server, [volume]))
