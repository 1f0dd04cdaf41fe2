# SPDX-License-Identifier: Apache-2.0

"""Columns of the list."""

from horizon_volume_opts.admin_images import columns
from horizon_volume_opts.admin_images import query
from tests.unit import base


class ColumnsTestCase(base.TestCase):
    def test_each_can_be_sorted(self) -> None:
        self.assertEqual(
            {each.name for each in columns.COLUMNS}, set(query.SORTS)
        )
