# SPDX-License-Identifier: Apache-2.0

"""Test the tab in the details page of a volume."""

import re
from typing import Any

import ddt
from django.core import cache
from django.utils import translation
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.admin.volumes import tabs as admin_tabs
from openstack_dashboard.dashboards.project.volumes import tabs

from horizon_volume_opts.volumes import details
from tests import runs
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_SLUG = 'rbd_volume_options'


@runs.tags(runs.RELEASES)
@ddt.ddt
class TabTestCase(horizon_case.HorizonTestCase):
    def page(self) -> str:
        url = f'/project/volumes/v/?tab=volume_details__{_SLUG}'
        response = self.client.get(url)
        self.assertEqual(200, response.status_code)
        return ' '.join(response.content.decode().split())

    def row(self, label: str) -> str:
        """Return value and origin of a row of the tab; empty without it."""
        found = re.search(
            rf'<th scope="row">{label}</th><td class="word-wrap">(.*?)</td>'
            '<td>(.*?)</td>',
            self.page(),
        )
        parts = found.groups() if found else ()
        return ' | '.join(str(each) for each in parts if each)

    def test_in_the_groups_of_both_dashboards(self) -> None:
        for group in (tabs.VolumeDetailTabs, admin_tabs.VolumeDetailTabs):
            configured = group._load_tabs_from_config(group.__new__(group))
            self.assertEqual((details.RBDTab,), configured)

    @ddt.data(
        (
            {},
            {
                'Object size': '8 MiB',
                'Striping': '64 KiB × 8',
                'Objects': 'up to 128',
                'Image features': 'layering, striping',
                'Object map': 'No',
                'Data pool': '',
                'Compression hint': '',
            },
        ),
        (
            {'stripe_unit': 2**23, 'stripe_count': 1},
            {'Striping': 'no striping'},
        ),
        (
            {'data_pool': 'ec', 'compression_hint': '<compressible>'},
            {
                'Data pool': 'ec | set by the volume type or the back end',
                'Compression hint': '&lt;compressible&gt;',
            },
        ),
        (
            {
                'limits': {
                    'iops_limit': 12000,
                    'bps_burst': 104857600,
                    'new': 7,
                },
                'discard': False,
            },
            {
                'Maximum of requests per second': '12,000',
                'Maximum of bytes per second in a burst': '100 MiB',
                'Discard': 'No',
            },
        ),
        (
            {
                'features': ['layering', 'object-map'],
                'origins': {
                    'object_size': 'volume metadata',
                    'striping': 'of a newer release',
                    'features': 'volume type',
                },
            },
            {
                'Object size': '8 MiB | requested for this volume',
                'Striping': '64 KiB × 8',
                'Image features': 'layering, object-map | '
                'set by the volume type',
                'Object map': 'Yes | set by the volume type',
            },
        ),
        # There is no image, and the reason is the only information.
        (
            {'object_size': None, 'refused': "rbd:data_pool = 'x': <gone>"},
            {
                'Creation': 'rbd:data_pool = &#x27;x&#x27;: &lt;gone&gt;',
                'Object size': '',
            },
        ),
        (
            {
                'attach_refused': {
                    'reason': 'host offers no directsync',
                    'at': '2026-01-02T03:04:05.6Z',
                },
                'conversion': {
                    'percent': None,
                    'reason': 'too many snapshots',
                },
            },
            {
                'Last attachment': '2026-01-02 03:04:05 UTC: host offers no '
                'directsync',
                'Conversion': 'too many snapshots',
                'Object size': '8 MiB',
            },
        ),
    )
    @ddt.unpack
    def test_rows_of_the_record(
        self, record: dict[str, Any], rows: dict[str, str]
    ) -> None:
        self.cloud.add_volume(
            'v', **{f'{fake_cloud.ALIAS}:{k}': x for k, x in record.items()}
        )
        self.assertEqual(rows, {label: self.row(label) for label in rows})

    def test_limits_and_default_of_the_type(self) -> None:
        self.cloud.add_volume('v')
        self.assertIn('Default: set by the compute host', self.page())
        self.assertNotIn('Limits', self.page())
        self.cloud.add_volume('v', metadata={'rbd:cache_mode': 'none'})
        self.assertEqual(
            'none | requested for this volume',
            self.row('Cache mode of the next attachment'),
        )
        self.cloud.add_volume('v')
        self.cloud.types[0] = {
            **fake_cloud.offered(
                'rbd',
                cache_mode={
                    'default': 'writeback',
                    'default_from': 'volume type',
                },
            ),
            'qos_limits': fake_cloud.LIMITS,
        }
        cache.cache.clear()
        page = self.page()
        self.assertIn(
            '500 reads per second, 100 MiB per second for writes</td>'
            '<td>set by the volume type',
            page,
        )
        self.assertIn('Default: writeback (set by the volume type)', page)

    def test_cinder_does_not_tell_the_limits(self) -> None:
        self.cloud.add_volume('v')
        self.cloud.faults = {'GET /v3/p/os-rbd': fake_cloud.Refused(500, 'x')}
        self.assertEqual('8 MiB', self.row('Object size'))
        self.assertEqual('', self.row('Limits'))

    def test_cache_mode_of_each_attachment(self) -> None:
        for number in range(1, 6):
            self.cloud.servers[f's{number}'] = {
                'id': f's{number}',
                'name': f'<server {number}>',
            }
        self.cloud.add_volume(
            'v',
            attachments=[
                {
                    'server_id': f's{number}',
                    'attachment_id': f'a{number}',
                    'device': '/dev/vdb',
                }
                for number in range(1, 6)
            ],
            **{
                f'{fake_cloud.ALIAS}:cache_modes': {
                    'a1': 'writeback',
                    'a2': None,
                    'a3': 'writeback',
                    'a4': 'directsync',
                    'a5': 'writeback',
                },
                f'{fake_cloud.ALIAS}:cache_modes_in_force': {
                    'a1': 'writeback',
                    'a2': None,
                    'a3': 'none',
                    'a4': 'writeback',
                    'a5': None,
                },
            },
        )
        label = 'Cache mode of the attachment to &lt;server {}&gt;'
        for number, text in (
            (1, 'writeback | /dev/vdb'),
            (2, 'default of the compute host | /dev/vdb'),
            (
                3,
                'none; writeback is requested. The instance gets it when it '
                'starts on a compute host that allows it. | /dev/vdb',
            ),
            (
                4,
                'writeback, which can lose writes that directsync keeps. The '
                'instance gets directsync when it starts on a compute host '
                'that allows it. | /dev/vdb',
            ),
            (
                5,
                'default of the compute host, which does not support cache '
                'modes; writeback is requested | /dev/vdb',
            ),
        ):
            self.assertEqual(text, self.row(label.format(number)))

    def test_no_tab_for_a_volume_of_another_driver(self) -> None:
        self.cloud.add_volume('v', **{f'{fake_cloud.ALIAS}:object_size': None})
        self.assertNotIn(_SLUG, self.page().replace('?tab=', ''))


class InBriefTestCase(horizon_case.HorizonTestCase):
    def brief(self, **changes: Any) -> str:
        shown = self.cloud.add_volume(
            'v', **{f'{fake_cloud.ALIAS}:{k}': v for k, v in changes.items()}
        )
        return str(details.in_brief(cinder.Volume(_Resource(shown))))

    def test_object_map(self) -> None:
        self.assertEqual(
            '4\xa0MiB, object map',
            self.brief(
                object_size=2**22,
                stripe_unit=2**22,
                stripe_count=1,
                features=['object-map'],
            ),
        )

    def test_brief_shows_refusals(self) -> None:
        self.assertEqual('-', self.brief(object_size=None))
        self.assertEqual(
            'creation refused', self.brief(object_size=None, refused='x')
        )
        self.assertEqual(
            '8\xa0MiB, 64\xa0KiB\xa0×\xa08, last attachment refused, '
            'not converted',
            self.brief(
                attach_refused={'reason': 'x', 'at': None},
                conversion={'reason': 'x', 'percent': None},
            ),
        )

    def test_brief_is_translated_to_german(self) -> None:
        with translation.override('de'):
            self.assertEqual(
                '8\xa0MiB, 64\xa0KiB\xa0×\xa08, Object-Map',
                self.brief(features=['object-map']),
            )


class _Resource:
    def __init__(self, shown: dict[str, Any]) -> None:
        self.__dict__.update(shown)
