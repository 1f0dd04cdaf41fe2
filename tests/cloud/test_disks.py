# SPDX-License-Identifier: Apache-2.0

"""Test the properties of disks that a real guest sees."""

from sandbox_cloud import guest
from tests import runs
from tests.cloud import servers

# MiB that the guest writes, from the second MiB on, and discards.
_DISCARDED = 4
_ZEROES = 'os-rbd-volume-options:detect_zeroes'
_SECTORS = {'512': '512/512', '512e': '512/4096', '4096': '4096/4096'}


# A minute in a guest; functional tests compare the XML of the same disks.
@runs.tags(runs.NIGHTLY)
class DiskTestCase(servers.ServerTestCase):
    def sectors(self, server: str, volumes: dict[str, str]) -> dict[str, str]:
        """Return what the guest reports, by the names of the volumes."""
        return {
            name: self.seen_by_guest(server, volume)['sectors']
            for name, volume in volumes.items()
        }

    def test_guest_sees_sector_size_of_volume_and_clones(self) -> None:
        kind = self.make_type(rbd_sector_size='4096')
        chosen = self.make_type(rbd_tenant_options='rbd:sector_size')
        volumes = {
            name: self.created(
                volume_type=chosen, metadata={'rbd:sector_size': name}
            )
            for name in ('512e', '4096')
        }
        snapshot = self.snapshot(volumes['4096'])
        volumes |= {
            'of a type': self.created(volume_type=kind),
            'clone': self.created(source_volid=volumes['512e']),
            'from snapshot': self.created(snapshot_id=snapshot),
            # The data of its source has no sector size, whatever its type.
            'clone of none': self.created(
                source_volid=self.created(volume_type='rbd'), volume_type=kind
            ),
        }
        server = self.boot()
        for volume in volumes.values():
            self.attach(server, volume)
        expected = {
            '512e': _SECTORS['512e'],
            '4096': _SECTORS['4096'],
            'of a type': _SECTORS['4096'],
            'clone': _SECTORS['512e'],
            'from snapshot': _SECTORS['4096'],
            'clone of none': _SECTORS['512'],
        }
        self.assertEqual(expected, self.sectors(server, volumes))
        self.check_guest_writes(server, volumes['4096'])
        self._check_discard(server)
        self._check_detect_zeroes(server)

    def _check_discard(self, server: str) -> None:
        """Check that discards free data unless the volume keeps it."""
        kept = self.created(volume_type=self.make_type(rbd_discard='false'))
        freed = self.created()
        zeros = guest.checksum_of(bytes(_DISCARDED * 2**20))
        for volume, is_kept in ((kept, True), (freed, False)):
            self.attach(server, volume)
            word = self.check_guest_writes(server, volume)
            done = f'discard {_DISCARDED}'
            self.assertIn('discarded', self.ask_guest(server, volume, done))
            data = guest.checksum(word, _DISCARDED) if is_kept else zeros
            self.assertEqual(
                f'read {_DISCARDED} MiB md5={data}',
                self.ask_guest(server, volume, f'read {_DISCARDED}'),
            )

    def _check_detect_zeroes(self, server: str) -> None:
        """Check that the disk has the attribute of the type or the volume."""
        freeing = self.make_type(rbd_detect_zeroes='unmap')
        chosen = self.make_type(rbd_tenant_options='rbd:detect_zeroes')
        own = self.created(
            volume_type=chosen, metadata={'rbd:detect_zeroes': 'on'}
        )
        volumes = {
            'unmap': self.created(volume_type=freeing),
            'on': own,
            # Unlike a sector size, it is not that of the source.
            None: self.created(source_volid=own, volume_type='rbd'),
        }
        for volume in volumes.values():
            self.attach(server, volume)
        self._check_words(server, volumes)

    def _check_words(
        self, server: str, volumes: dict[str | None, str]
    ) -> None:
        """Check the attributes of disks in libvirt and in Cinder."""
        for word, volume in volumes.items():
            disk = self.disk_driver(server, volume)
            self.assertEqual(word, disk.get('detect_zeroes'))
            self.assertEqual([word], [*self.show(volume)[_ZEROES].values()])
