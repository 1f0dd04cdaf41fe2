# SPDX-License-Identifier: Apache-2.0

"""Effects of a compute host's configuration on real servers."""

from importlib import metadata

from tests import runs
from tests.cloud import base
from tests.cloud import test_cache_modes

_MODES = 'os-rbd-volume-options:cache_modes_in_force'
#: Sets a default mode for volumes and the modes that they may request.
_CONF = """
[libvirt]
disk_cachemodes = network=writeback
[rbd_cache]
allowed_modes = none,directsync,unsafe
disk_queues = 2
"""
_TUNED = {'queues': '2'}
#: In the same section. Nova supports I/O threads since version 33; with an
#: older version, nova-compute does not start with this option.
_THREAD = 'disk_iothread = True\n'
_HAS_THREADS = metadata.version('nova') >= '33'
if _HAS_THREADS:
    _CONF += _THREAD
    _TUNED['iothread'] = '1'


# The functional tests of Nova run with these options.
@runs.tags(runs.NIGHTLY)
class ComputeOptionsTest(test_cache_modes.CacheModeTestCase):
    def drivers(self, volumes: list[str]) -> list[base.Record]:
        """Return the tested driver attributes of each volume's disk."""
        drivers = [self.disk_driver(self.machine, each) for each in volumes]
        names = ('cache', 'iothread', 'queues')
        return [{k: v for k, v in d.items() if k in names} for d in drivers]

    def attached(self, volumes: list[str]) -> list[str]:
        """Attach volumes; return them."""
        for volume in volumes:
            self.attach(self.machine, volume)
        return volumes

    def test_options_of_a_host(self) -> None:
        self.need_two_hosts()
        self.machine = self.boot()
        # The host's configuration later excludes both modes.
        (before,) = self.attached([self.volume('writethrough')])
        volumes = [
            self.volume('none'),
            self.created(),
            # This back end also allows it, and is lenient.
            self.volume('unsafe', volume_type='rbd2'),
            self.volume('writethrough', volume_type='rbd2'),
        ]
        expected = [
            {'cache': mode, **_TUNED}
            for mode in ('none', 'writeback', 'unsafe', 'none')
        ]
        with self.configured(_CONF):
            self.check_not_allowed()
            self.attached(volumes)
            self.assertEqual(expected, self.drivers(volumes))
            (mode,) = self.show(volumes[-1])[_MODES].values()
            self.assertEqual('none', mode)
            self.assertEqual(
                [{'cache': 'writethrough'}], self.drivers([before])
            )
            for volume in volumes:
                self.check_guest_sees(volume)
            self.hard_reboot(self.machine)
            # The mode is no longer allowed, but a refusal would strand the
            # server.
            expected.append({'cache': 'none', **_TUNED})
            self.assertEqual(expected, self.drivers([*volumes, before]))
            self.check_guest_writes(self.machine, before)
            self.assertEqual({'NONE', 'DIRECTSYNC', 'UNSAFE'}, self.traits())
            self.check_not_migrated()
            self.detach(self.machine, volumes[0])
        self.assertNotIn('UNSAFE', self.traits())

    def traits(self) -> set[str]:
        """Return the modes in the traits of the server's host."""
        host = self.server(self.machine)['OS-EXT-SRV-ATTR:host']
        answer = self._placement(f'/resource_providers?name={host}')
        (provider,) = answer['resource_providers']
        path = f'/resource_providers/{provider["uuid"]}/traits'
        prefix = 'CUSTOM_RBD_CACHE_'
        return {
            trait.removeprefix(prefix)
            for trait in self._placement(path)['traits']
            if trait.startswith(prefix)
        }

    def _placement(self, path: str) -> base.Record:
        return self.request(
            'GET', path, cloud=self.operator, service='placement'
        )

    def check_not_migrated(self) -> None:
        """Check that a server with an unsafe disk is not live-migrated."""
        host = self.server(self.machine)['OS-EXT-SRV-ATTR:host']
        self.server_action(
            self.machine,
            **{'os-migrateLive': {'host': None, 'block_migration': 'auto'}},
        )
        path = f'/os-migrations?instance_uuid={self.machine}'

        def ended() -> bool:
            answer = self.compute('GET', path, cloud=self.operator)
            return [each['status'] for each in answer['migrations']] == [
                'error'
            ]

        self.until(ended)
        record = self.wait_for_server(self.machine)
        self.assertEqual(host, record['OS-EXT-SRV-ATTR:host'])

    def check_not_allowed(self) -> None:
        """Check that modes that the host does not allow are refused."""
        words = 'allowed: none, directsync'
        asking = self.volume('writethrough')
        self.check_refused_by_nova(self.machine, asking, words)
        root = self.volume('writethrough', imageRef=self.image())
        server = self.boot(root, wait=False)
        told = self.until(lambda: self.fault(server))
        # The message for the tenant names no host.
        self.assertNotIn('sandbox', told)
        self.check_tries(root)

    def fault(self, server: str) -> str:
        """Return the fault message of a server, as shown to the tenant."""
        shown = self.compute('GET', f'/servers/{server}')['server']
        return str(shown.get('fault', {}).get('message', ''))

    def check_guest_sees(self, volume: str) -> None:
        """Check that the guest can use a volume's disk."""
        seen = self.seen_by_guest(self.machine, volume)
        self.assertEqual(str(2**30), seen['size'])
