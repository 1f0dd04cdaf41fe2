# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from nova_rbd_cache import comparison
from nova_rbd_cache import guests
from nova_rbd_cache import settings
from rbd_volume_options import options
from rbd_volume_options.families import cache_modes
from tests.unit import base

_SERVER = 'b3a1c6de-2f0e-4f6a-9a64-0d6b7f3f0002'
_VOLUME = '6a8f5f5e-9a5a-4c5b-8f1d-0d6b7f3f0001'
State = comparison.State

_XML = f"""
<domain><uuid>{_SERVER}</uuid><devices>
  <disk type='file'><source file='/disk'/><target dev='vda'/></disk>
  <disk type='network'>
    <driver name='qemu' cache='writeback' discard='unmap'/>
    <source protocol='rbd' name='volumes/volume'/>
    <target dev='vdb' bus='virtio'/>
    <iotune><total_iops_sec>70</total_iops_sec></iotune>
    <blockio logical_block_size='4096' physical_block_size='4096'/>
    <serial>{_VOLUME}</serial>
  </disk>
  <disk type='network'><source protocol='rbd'/><target dev='vdc'/></disk>
</devices></domain>
"""
_REQUESTED = {
    'cache_mode': 'writeback',
    'discard': True,
    'logical_block_size': '4096',
    'physical_block_size': '4096',
    'qos_specs': {'total_iops_sec': '70', 'other': 'x'},
}


def _settings(**disks: Any) -> settings.Settings:
    return settings.Settings(
        (cache_modes.CacheMode.NONE, cache_modes.CacheMode.WRITEBACK),
        settings.DiskSettings(**disks),
        settings.EphemeralSettings(options.Values()),
    )


@ddt.ddt
class ComparisonTest(base.TestCase):
    def compare(
        self, host: settings.Settings | None = None, **changed: Any
    ) -> comparison.Compared:
        """Compare the disk of the guest with a connection."""
        (compared,) = comparison.compare(
            guests.parse(_XML),
            {_VOLUME: _REQUESTED | changed},
            host or _settings(),
        )
        return compared

    def test_disk_that_has_all_is_as_requested(self) -> None:
        compared = self.compare()
        self.assertEqual((), compared.differences)
        self.assertIs(State.AS_REQUESTED, compared.state)
        self.assertEqual(
            (_SERVER, _VOLUME, 'vdb', 'writeback'),
            (
                compared.server,
                compared.disk.volume,
                compared.disk.target,
                compared.mode,
            ),
        )

    @ddt.data(
        ({'cache_mode': 'none'}, 'none is requested (at the next start)'),
        ({'cache_mode': 'unsafe'}, 'unsafe is requested (not allowed here)'),
        ({'discard': False}, 'discard: unmap'),
        ({'detect_zeroes': 'unmap'}, 'detect_zeroes: off, unmap is'),
        ({'discard_granularity': 65536}, 'discard_granularity: default, 655'),
        ({'logical_block_size': '512'}, 'logical_block_size: 4096, 512 is'),
        ({'qos_specs': {'total_iops_sec': 80}}, 'total_iops_sec: 70, 80 is'),
    )
    @ddt.unpack
    def test_each_difference_is_named(
        self, changed: dict[str, Any], text: str
    ) -> None:
        compared = self.compare(**changed)
        (difference,) = compared.differences
        self.assertIn(text, difference)
        self.assertIs(State.DIFFERS, compared.state)

    @ddt.data(
        ({'iothread': True}, 'no I/O thread (at the next start)'),
        ({'queues': 4}, 'queues: default, not 4'),
    )
    @ddt.unpack
    def test_options_of_the_host_are_compared(
        self, disks: dict[str, Any], text: str
    ) -> None:
        self.assertEqual((text,), self.compare(_settings(**disks)).differences)

    @ddt.data('writethrough', 'directsync')
    def test_weaker_mode_breaks_a_promise(self, mode: str) -> None:
        compared = self.compare(cache_mode=mode)
        self.assertIs(State.PROMISE_BROKEN, compared.state)

    def test_no_request_is_no_difference(self) -> None:
        compared = self.compare(cache_mode=None, qos_specs=None)
        self.assertIs(State.AS_REQUESTED, compared.state)
        self.assertEqual('', compared.requested)

    def test_disk_without_an_attachment_differs(self) -> None:
        (compared,) = comparison.compare(guests.parse(_XML), {}, _settings())
        self.assertIs(State.DIFFERS, compared.state)

    def test_metrics_count_states_and_name_disks_in_another_mode(
        self,
    ) -> None:
        text = comparison.metrics(
            [self.compare(), self.compare(cache_mode='directsync')]
        )
        for line in (
            'rbd_guest_disks{state="as_requested"} 1',
            'rbd_guest_disks{state="differs"} 0',
            'rbd_guest_disks{state="promise_broken"} 1',
            f'rbd_guest_disk_other_mode{{server="{_SERVER}",'
            f'volume="{_VOLUME}",mode="writeback",requested="directsync"}} 1',
        ):
            self.assertIn(f'{line}\n', text)
        self.assertTrue(text.endswith('\n'))
