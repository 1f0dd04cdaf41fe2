# SPDX-License-Identifier: Apache-2.0

import dataclasses

from rbd_volume_tools.bench import servers
from rbd_volume_tools.bench import servers_report
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import test_servers


def _measurement(
    size: int, rate: float, variant: str = 'rbd', scenario: str = 'alone'
) -> servers.Measurement:
    figures = {name: [rate, rate + 2] for name in servers.NAMES}
    return servers.Measurement(variant, 'buffered', scenario, size, figures)


class ServersReportTest(base.TestCase):
    def test_best_disk_counts_as_in_the_report(self) -> None:
        measured = [_measurement(1, 10.0), _measurement(2, 20.0)]
        spread = servers_report.spread(measured, 'rbd', ['hdparm_direct'])
        self.assertEqual(21.0, spread.mean if spread else None)

    def test_ratios_are_those_of_variants_and_scenarios(self) -> None:
        plain = 'rbd, none'
        measured = [
            _measurement(1, 9.0, plain),
            _measurement(1, 19.0, 'lvm'),
            _measurement(1, 4.0, plain, scenario='together'),
        ]
        settings = dataclasses.replace(
            test_servers.SETTINGS, volume_type='rbd', cache_modes=['none']
        )
        ratios = {
            str(row[0]): row[2]
            for row in servers_report.published(measured, settings)
        }
        self.assertEqual('0.5', ratios['direct reads: Ceph "eight times"'])
        self.assertEqual(
            '0.5', ratios['three disks at once, fio: Ceph "unchanged"']
        )
        # Nothing was measured with writeback.
        self.assertIn('-', ratios.values())
