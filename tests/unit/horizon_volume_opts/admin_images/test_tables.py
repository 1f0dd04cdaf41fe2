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

"""What stands in the cells."""

from typing import Any

from openstack_dashboard.test import helpers

from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import tables
from rbd_volume_options import layout


def _cells(table: Any) -> list[list[str]]:
    return [
        [str(cell.value) for cell in row.get_cells()]
        for row in table.get_rows()
    ]


class MapsTestCase(helpers.BaseAdminViewTests):
    def setUp(self) -> None:
        super().setUp()
        counts = {
            census.MapState.VALID: 4,
            census.MapState.NONE: 3,
            census.MapState.INVALID: 2,
            census.MapState.UNKNOWN: 1,
        }
        self.rows = [
            census.MapRow('h@b#p', 'gold', counts),
            census.MapRow('h@b#p', '', counts),
        ]

    def test_from_attributes(self) -> None:
        table = tables.MapsTable(self.request, data=self.rows)
        self.assertEqual(
            [
                ['h@b#p', 'gold', '10', '4', '3', '1'],
                ['h@b#p', '-', '10', '4', '3', '1'],
            ],
            _cells(table),
        )

    def test_from_an_audit(self) -> None:
        table = tables.AuditedMapsTable(self.request, data=self.rows)
        self.assertEqual(
            ['h@b#p', 'gold', '10', '4', '3', '2', '1'], _cells(table)[0]
        )

    def test_each_row_has_an_id_of_its_own(self) -> None:
        table = tables.MapsTable(self.request, data=self.rows)
        self.assertEqual(2, len({table.get_object_id(r) for r in self.rows}))


class LayoutsTestCase(helpers.BaseAdminViewTests):
    def test_rows(self) -> None:
        rows = [
            census.LayoutRow(
                layout.ImageLayout.of(4 << 20, 4 << 20, 1), '', 5
            ),
            census.LayoutRow(
                layout.ImageLayout.of(1 << 20, 1 << 16, 8), 'ec', 2
            ),
        ]
        table = tables.LayoutsTable(self.request, data=rows)
        self.assertEqual(
            [
                ['4 MiB', 'none', '-', '5'],
                ['1 MiB', '64 KiB x 8', 'ec', '2'],
            ],
            _cells(table),
        )
        self.assertEqual(2, len({table.get_object_id(row) for row in rows}))
