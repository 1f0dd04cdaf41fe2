# SPDX-License-Identifier: Apache-2.0

"""Limits on reads and writes of volumes, from the API to the guest."""

import time

from tests import runs
from tests.cloud import base
from tests.cloud import servers

_LIMIT = 'rbd:iops_limit'
_WRITES = 'rbd:write_bps_limit'
_SHOWN = 'os-rbd-volume-options:limits'


def limits_of(volume: str) -> dict[str, str]:
    """Return the limits in the RBD image of a volume, by librbd's names."""
    start = 'rbd_qos_'
    return {
        option['name'].removeprefix(start): option['value']
        for option in base.rbd(
            'config', 'image', 'ls', f'volumes/volume-{volume}'
        )
        if option['name'].startswith(start) and option['source'] == 'image'
    }


class LimitsTest(servers.ServerTestCase):
    def set_keys(self, volume: str, **values: str) -> None:
        """Replace the metadata of a volume; ``rbd_x`` stands for ``rbd:x``."""
        metadata = {f'rbd:{k[4:]}': v for k, v in values.items()}
        self.request(
            'PUT', f'/volumes/{volume}/metadata', {'metadata': metadata}
        )

    def test_limits_follow_size_and_type(self) -> None:
        by_size = self.make_type(
            rbd_iops_limit_per_gib='30',
            rbd_iops_limit_maximum='100',
            rbd_tenant_options='rbd:iops_limit,rbd:iops_burst',
        )
        volume = self.created(volume_type=by_size)
        self.assertEqual({'iops_limit': '30'}, limits_of(volume))
        for metadata, words in (
            ({_LIMIT: '101'}, 'more than the volume type allows'),
            ({_LIMIT: '50', 'rbd:iops_burst': '40'}, 'less than'),
            ({'rbd:iops_burst': '101'}, 'more than the volume type allows'),
            ({_WRITES: '1M'}, _WRITES),
        ):
            body = {'metadata': metadata}
            path = f'/volumes/{volume}/metadata'
            self.check_refused(400, words, 'PUT', path, body)
        self.set_keys(volume, rbd_iops_limit='50', rbd_iops_burst='70')
        self.assertEqual(
            {'iops_limit': '50', 'iops_burst': '70'}, limits_of(volume)
        )
        self.set_keys(volume)
        self.action(volume, **{'os-extend': {'new_size': 2}})
        self.wait_for(volume)
        self.assertEqual({'iops_limit': '60'}, limits_of(volume))
        self.assertEqual({'iops_limit': 60}, self.show(volume)[_SHOWN])
        self.snapshot(volume)
        ident = self.info(volume)['id']
        retype = {'new_type': 'rbd', 'migration_policy': 'never'}
        # A volume with snapshots is retyped too: nothing is copied.
        self.action(volume, self.operator, **{'os-retype': retype})
        self.wait_for(volume)
        self.assertEqual({}, limits_of(volume))
        self.assertEqual(ident, self.info(volume)['id'])

    def _seconds_to_write(self, machine: str, volume: str) -> float:
        began = time.monotonic()
        self.check_guest_writes(machine, volume)
        return time.monotonic() - began

    @runs.tags(runs.NIGHTLY)
    def test_limit_is_in_force_in_a_running_guest(self) -> None:
        """A write of 4 MiB at 512 KiB per second takes 7 seconds or more."""
        machine = self.boot()
        limited = self.make_type(
            rbd_write_bps_limit_per_gib='1G',
            # Tenants cannot choose less than 1M otherwise.
            rbd_write_bps_limit_minimum='512K',
            rbd_tenant_options=_WRITES,
        )
        volume = self.created(volume_type=limited)
        self.attach(machine, volume)
        self._seconds_to_write(machine, volume)
        self.set_keys(volume, rbd_write_bps_limit='512K')
        self.assertGreater(self._seconds_to_write(machine, volume), 6)
        self.set_keys(volume)
        self.assertEqual({'write_bps_limit': str(1 << 30)}, limits_of(volume))
        self.until(lambda: self._seconds_to_write(machine, volume) < 6)
