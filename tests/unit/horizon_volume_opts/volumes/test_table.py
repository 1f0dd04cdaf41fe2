# SPDX-License-Identifier: Apache-2.0

"""Additions to the volume tables."""

import types
from typing import Any

from django.core import cache
from openstack_dashboard.dashboards.admin.volumes import tables as admin_stock
from openstack_dashboard.dashboards.project.volumes import tables as stock

from horizon_volume_opts import discovery
from horizon_volume_opts import volume_attributes
from horizon_volume_opts.volumes import table
from rbd_volume_options import registry
from tests import runs
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_URL = '/project/volumes/'


@runs.tags(runs.RELEASES)
class TableTestCase(horizon_case.HorizonTestCase):
    def use_column(self) -> None:
        """Add the column until the test ends."""
        for each, dashboard in (
            (stock.VolumesTable, 'project'),
            (admin_stock.VolumesTable, 'admin'),
        ):
            for name in ('base_columns', '_columns'):
                self.patch(each, name, getattr(each, name).copy())
            self.patch(each._meta, 'columns', each._meta.columns)
            table.add_column(each, dashboard)

    def page(self) -> str:
        self.cloud.add_volume('v')
        response = self.client.get(_URL)
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def test_action_without_the_column_by_default(self) -> None:
        page = self.page()
        self.assertIn('name-of-v', page)
        self.assertNotIn('RBD Layout', page)
        self.assertIn('Change RBD Options', page)

    def test_an_invalid_record_does_not_prevent_the_page(self) -> None:
        self.use_column()
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
        self.use_column()
        for each in (stock.VolumesTable, admin_stock.VolumesTable):
            names = list(each._columns)
            self.assertEqual(['rbd_layout', 'actions'], names[-2:])

    def test_a_refusal_links_to_its_reason(self) -> None:
        self.use_column()
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

    def test_no_action_without_a_field(self) -> None:
        changes: dict[str, Any]
        for changes in (
            {'multiattach': True, 'volume_type': 'cached'},
            {'volume_type': 'lvm'},
            {'volume_type': None},
        ):
            self.cloud.types.append(
                fake_cloud.offered(
                    'cached',
                    **{
                        option.name: {'settable': option.name == 'cache_mode'}
                        for option in registry.changeable()
                    },
                )
            )
            cache.cache.clear()
            self.cloud.add_volume('v', **changes)
            page = self.client.get(_URL).content.decode()
            self.assertNotIn('Change RBD Options', page, str(changes))

    def test_page_of_volumes_where_our_code_fails(self) -> None:
        self.use_column()
        self.patch(volume_attributes, 'of_volume', None)
        self.patch(discovery, 'of_type', None)
        page = self.page()
        self.assertIn('name-of-v', page)
        self.assertIn('in_brief; the page is shown', self.log.output)
