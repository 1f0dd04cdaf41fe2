# SPDX-License-Identifier: Apache-2.0

"""Additions to the volume tables."""

import types

from django.test import utils
from openstack_dashboard.dashboards.admin.volumes import tables as admin_stock
from openstack_dashboard.dashboards.admin.volumes import views as admin_views
from openstack_dashboard.dashboards.project.volumes import tables as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts.volumes import table
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_URL = '/project/volumes/'


class TableTestCase(horizon_case.HorizonTestCase):
    def use(self, wanted: bool | None = None) -> None:
        self.patch(views.VolumesView, 'table_class', stock.VolumesTable)
        self.patch(
            admin_views.VolumesView, 'table_class', admin_stock.VolumesTable
        )
        options = {} if wanted is None else {'layout_column': wanted}
        with utils.override_settings(RBD_VOLUME_OPTIONS=options):
            table.use_table()

    def page(self) -> str:
        self.cloud.add_volume('v')
        response = self.client.get(_URL)
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def test_not_if_it_is_turned_off(self) -> None:
        self.use(False)
        page = self.page()
        self.assertIn('name-of-v', page)
        self.assertNotIn('RBD Layout', page)
        self.assertIn('Change RBD Options', page)
        self.assertIs(
            table.AdminActionTable, admin_views.VolumesView.table_class
        )

    def test_layout_for_projects(self) -> None:
        self.use()
        page = self.page()
        self.assertIn('RBD Layout', page)
        self.assertIn('8\xa0MiB, 64\xa0KiB\xa0×\xa08', page)

    def test_an_invalid_record_does_not_prevent_the_page(self) -> None:
        self.use()
        self.cloud.add_volume(
            'bad', **{f'{fake_cloud.ALIAS}:object_size': '4M'}
        )
        page = self.page()
        self.assertIn('name-of-bad', page)
        self.assertIn('8\xa0MiB, 64\xa0KiB\xa0×\xa08', page)
        for path in ('bad', 'bad/extend', 'bad/retype'):
            response = self.client.get(f'{_URL}{path}/')
            self.assertEqual(200, response.status_code, path)

    def test_layout_for_administrators(self) -> None:
        self.use()
        self.assertIs(
            table.AdminVolumesTable, admin_views.VolumesView.table_class
        )
        self.assertEqual(
            [*admin_stock.VolumesTable.base_columns, 'rbd_layout'],
            list(table.AdminVolumesTable.base_columns),
        )

    def test_a_refusal_links_to_its_reason(self) -> None:
        self.use()
        self.assertNotIn('?tab=', self.page())
        self.cloud.add_volume(
            'v', **{f'{fake_cloud.ALIAS}:attach_refused': {'reason': 'x'}}
        )
        page = self.client.get(_URL).content.decode()
        for dashboard in ('project', 'admin'):
            link = table._reasons(dashboard)
            volume = types.SimpleNamespace(**self.cloud.volumes['v'])
            self.assertEqual(
                f'/{dashboard}/volumes/v/'
                '?tab=volume_details__rbd_volume_options',
                link(volume),
            )
        self.assertIn(f'href="{table._reasons("project")(volume)}"', page)
        self.assertIn('last attachment refused', page)

    def test_action_for_administrators(self) -> None:
        for wanted in (True, False):
            self.use(wanted)
            table_class = admin_views.VolumesView.table_class
            self.assertIn('rbd_options', table_class.base_actions)

    def test_stock_columns_stay_as_they_are(self) -> None:
        self.assertEqual(
            [*stock.VolumesTable.base_columns, 'rbd_layout'],
            list(table.VolumesTable.base_columns),
        )
        self.assertNotIn('rbd_layout', stock.VolumesTable.base_columns)
