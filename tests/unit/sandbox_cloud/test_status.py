# SPDX-License-Identifier: Apache-2.0

from sandbox_cloud import status
from tests.unit import base


class RangesTestCase(base.TestCase):
    def test_rows_and_single_ports(self) -> None:
        ports = status.ranges([3300, 6800, 6801, 6802, 6810])
        self.assertEqual('3300 6800-6802 6810', ports)

    def test_no_numbers_have_no_ranges(self) -> None:
        self.assertEqual('', status.ranges([]))


class TableTestCase(base.TestCase):
    def test_nothing_runs(self) -> None:
        cloud = {'folder': '/s', 'services': []}
        self.assertEqual('Nothing runs in /s.', status.table(cloud))

    def test_columns_line_up(self) -> None:
        services = [
            {
                'service': 'mariadb',
                'state': 'RUNNING',
                'pid': 7,
                'ports': [3306],
                'memory': 117,
            },
            {
                'service': 'api',
                'state': 'FATAL',
                'pid': None,
                'ports': [],
                'memory': 0,
            },
        ]
        lines = status.table(
            {
                'folder': '/s',
                'release': '2026.2',
                'platform': 'trixie',
                'services': services,
            }
        ).splitlines()
        self.assertEqual('OpenStack 2026.2 on trixie in /s', lines[0])
        self.assertEqual('mariadb  RUNNING    7  3306  117', lines[3])
        self.assertEqual('api      FATAL      -          0', lines[4])
