# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What a compute host's configuration comes to, on real servers."""

from importlib import metadata

from tests.cloud import base
from tests.cloud import test_cache_modes

_MODES = 'os-rbd-volume-options:cache_modes'
#: The host gives volumes a mode, and allows some that they ask for.
_CONF = """
[libvirt]
disk_cachemodes = network=writeback
[rbd_cache]
allowed_modes = none,directsync,unsafe
disk_queues = 2
"""
_TUNED = {'queues': '2'}
#: In the same section; Nova gives guests a thread from 33 on, and before that
#: nova-compute doesn't start with it.
_THREAD = 'disk_iothread = True\n'
_HAS_THREADS = metadata.version('nova') >= '33'
if _HAS_THREADS:
    _CONF += _THREAD
    _TUNED['iothread'] = '1'


class ComputeOptionsTest(test_cache_modes.CacheModeTestCase):
    def drivers(self, volumes: list[str]) -> list[base.Record]:
        """Return what this is about of each volume's disk."""
        found = [self.disk_driver(self.machine, each) for each in volumes]
        names = ('cache', 'iothread', 'queues')
        return [{k: v for k, v in d.items() if k in names} for d in found]

    def attached(self, volumes: list[str]) -> list[str]:
        """Attach volumes; return them."""
        for volume in volumes:
            self.attach(self.machine, volume)
        return volumes

    def test_options_of_a_host(self) -> None:
        self.machine = self.boot()
        # The host takes both from its list when they are there.
        (before,) = self.attached([self.volume('writethrough')])
        volumes = [
            self.volume('none'),
            self.created(),
            # The back end allows it, too, and is lenient.
            self.volume('unsafe', volume_type='rbd2'),
            self.volume('writethrough', volume_type='rbd2'),
        ]
        expected = [
            {'cache': mode, **_TUNED}
            for mode in ('none', 'writeback', 'unsafe', 'writeback')
        ]
        with self.configured(_CONF):
            self.check_not_allowed()
            self.attached(volumes)
            self.assertEqual(expected, self.drivers(volumes))
            (mode,) = self.show(volumes[-1])[_MODES].values()
            self.assertIsNone(mode)
            self.assertEqual(
                [{'cache': 'writethrough'}], self.drivers([before])
            )
            for volume in volumes:
                self.check_guest_sees(volume)
            self.hard_reboot(self.machine)
            # Its mode is not allowed any more; refused it would be stranded.
            expected.append({'cache': 'writethrough', **_TUNED})
            self.assertEqual(expected, self.drivers([*volumes, before]))
            self.check_guest_writes(self.machine, before)
            self.detach(self.machine, volumes[0])

    def check_not_allowed(self) -> None:
        """Check that modes that the host does not allow are refused."""
        words = 'allowed: none, directsync'
        asking = self.volume('writethrough')
        self.check_refused_by_nova(self.machine, asking, words)
        root = self.volume('writethrough', imageRef=self.image())
        server = self.boot(root, wait=False)
        told = self.until(lambda: self.fault(server))
        # What the tenant reads names no host.
        self.assertNotIn('sandbox', told)
        self.check_refused_once(root)

    def fault(self, server: str) -> str:
        """Return what a server's tenant reads of its failure."""
        found = self.compute('GET', f'/servers/{server}')['server']
        return str(found.get('fault', {}).get('message', ''))

    def check_guest_sees(self, volume: str) -> None:
        """Check that the guest can use a volume's disk."""
        seen = self.seen_by_guest(self.machine, volume)
        self.assertEqual(str(2**30), seen['size'])
