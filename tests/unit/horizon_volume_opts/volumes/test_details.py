# SPDX-License-Identifier: Apache-2.0

"""Test the tab in the details page of a volume."""

from typing import Any

from django.core import cache
from django.utils import translation
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.admin.volumes import tabs as admin_tabs
from openstack_dashboard.dashboards.project.volumes import tabs

from horizon_volume_opts.volumes import details
from rbd_volume_options import wire
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_SLUG = 'rbd_volume_options'


class TabTestCase(horizon_case.HorizonTestCase):
    def page(self) -> str:
        url = f'/project/volumes/v/?tab=volume_details__{_SLUG}'
        response = self.client.get(url)
        self.assertEqual(200, response.status_code)
        return ' '.join(response.content.decode().split())

    def test_in_the_groups_of_both_dashboards(self) -> None:
        for group in (tabs.VolumeDetailTabs, admin_tabs.VolumeDetailTabs):
            configured = group._load_tabs_from_config(group.__new__(group))
            self.assertEqual((details.RBDTab,), configured)

    def test_layout_and_features(self) -> None:
        self.cloud.add_volume('v')
        page = self.page()
        for name, value in (
            ('Object size', '8 MiB'),
            ('Stripe unit', '64 KiB'),
            ('Stripe count', '8'),
            ('Objects', 'up to 128'),
            ('Features', 'layering, striping'),
            ('Object map', 'No'),
        ):
            self.assertIn(f'<dt>{name}</dt> <dd>{value}</dd>', page)
        self.assertNotIn('Data pool', page)

    def test_configuration_of_the_image(self) -> None:
        name = wire.ATTRIBUTE_COMPRESSION_HINT
        self.cloud.add_volume('v', **{name: None})
        self.assertNotIn('More options', self.page())
        self.cloud.add_volume('v', **{name: '<compressible>'})
        self.assertIn(
            '<dt>Compression hint</dt> <dd>&lt;compressible&gt;</dd>',
            self.page(),
        )

    def test_limits_of_the_volume(self) -> None:
        limits = {'iops_limit': 12000, 'bps_burst': 104857600, 'new': 7}
        self.cloud.add_volume(
            'v',
            **{
                wire.ATTRIBUTE_LIMITS: limits,
                wire.ATTRIBUTE_DISCARD: False,
            },
        )
        page = self.page()
        for text in (
            'requests per second</dt> <dd>12,000</dd>',
            'per second in a burst</dt> <dd>100 MiB</dd>',
            '<dd>No</dd>',
        ):
            self.assertIn(text, page)

    def test_origin_of_each_value(self) -> None:
        self.cloud.add_volume(
            'v',
            metadata={'rbd:cache_mode': 'writeback'},
            **{
                f'{fake_cloud.ALIAS}:origins': {
                    'object_size': 'volume metadata',
                    'striping': 'volume type',
                    'features': 'of a newer release',
                }
            },
        )
        page = self.page()
        for text in (
            '8 MiB (requested for this volume)',
            '64 KiB (set by the volume type)',
            '<dd>8 (set by the volume type)',
            '<dd>layering, striping</dd>',
            '<dt>Object map</dt> <dd>No</dd>',
            'writeback (requested for this volume)',
        ):
            self.assertIn(text, page)

    def test_data_pool(self) -> None:
        self.cloud.add_volume('v', **{f'{fake_cloud.ALIAS}:data_pool': 'ec'})
        row = '<dt>Data pool</dt> <dd>ec (set by the {})</dd>'
        self.assertIn(row.format('volume type or the back end'), self.page())
        self.cloud.types[0] = fake_cloud.offered(
            'rbd', data_pool={'default': 'ec', 'default_from': 'volume type'}
        )
        cache.cache.clear()
        self.assertIn(row.format('volume type'), self.page())

    def test_origin_of_the_object_map(self) -> None:
        self.cloud.add_volume(
            'v',
            **{
                f'{fake_cloud.ALIAS}:features': ['layering', 'object-map'],
                f'{fake_cloud.ALIAS}:origins': {'features': 'volume type'},
            },
        )
        self.assertIn(
            '<dt>Object map</dt> <dd>Yes (set by the volume type)</dd>',
            self.page(),
        )

    def test_limits_and_default_of_the_type(self) -> None:
        self.cloud.add_volume('v')
        self.assertIn('Default: set by the compute host', self.page())
        self.assertNotIn('Limits', self.page())
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
            '500 reads per second, 100 MiB per second for writes '
            '(set by the volume type)',
            page,
        )
        self.assertIn('Default: writeback (set by the volume type)', page)

    def test_cinder_does_not_tell_the_limits(self) -> None:
        self.cloud.add_volume('v')
        self.cloud.faults = {'GET /v3/p/os-rbd': fake_cloud.Refused(500, 'x')}
        page = self.page()
        self.assertIn('8 MiB', page)
        self.assertIn('default of the volume type, the back end', page)

    def test_cache_mode_of_each_attachment(self) -> None:
        for number in (1, 2):
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
                for number in (1, 2)
            ],
            **{
                f'{fake_cloud.ALIAS}:cache_modes': {
                    'a1': 'writeback',
                    'a2': None,
                }
            },
        )
        page = self.page()
        self.assertIn('&lt;server 1&gt; on /dev/vdb: writeback', page)
        self.assertIn(
            '&lt;server 2&gt; on /dev/vdb: default of the compute host', page
        )

    def test_no_tab_for_a_volume_of_another_driver(self) -> None:
        self.cloud.add_volume('v', **{f'{fake_cloud.ALIAS}:object_size': None})
        self.assertNotIn(_SLUG, self.page().replace('?tab=', ''))

    def test_creation_that_was_refused(self) -> None:
        """There is no image, and the reason is the only information."""
        self.cloud.add_volume(
            'v',
            status='error',
            **{
                f'{fake_cloud.ALIAS}:object_size': None,
                f'{fake_cloud.ALIAS}:refused': "rbd:data_pool = 'x': <gone>",
            },
        )
        page = self.page()
        self.assertIn(
            '<dt>Creation</dt> <dd class="word-wrap">rbd:data_pool = '
            '&#x27;x&#x27;: &lt;gone&gt;</dd>',
            page,
        )
        self.assertNotIn('<dt>Object size</dt>', page)

    def test_later_refusals(self) -> None:
        self.cloud.add_volume(
            'v',
            **{
                f'{fake_cloud.ALIAS}:attach_refused': {
                    'reason': 'host offers no directsync',
                    'at': '2026-01-02T03:04:05.6Z',
                },
                f'{fake_cloud.ALIAS}:conversion': {
                    'percent': None,
                    'reason': 'too many snapshots',
                },
            },
        )
        page = self.page()
        self.assertIn(
            '<dt>Last attachment</dt> <dd class="word-wrap">2026-01-02 '
            '03:04:05 UTC: host offers no directsync</dd>',
            page,
        )
        self.assertIn('<dd class="word-wrap">too many snapshots</dd>', page)
        self.assertIn('<dt>Object size</dt>', page)


class InBriefTestCase(horizon_case.HorizonTestCase):
    def brief(self, **changes: Any) -> str:
        shown = self.cloud.add_volume(
            'v', **{f'{fake_cloud.ALIAS}:{k}': v for k, v in changes.items()}
        )
        return details.in_brief(cinder.Volume(_Resource(shown)))

    def test_brief_shows_layout(self) -> None:
        self.assertEqual('8\xa0MiB, 64\xa0KiB\xa0×\xa08', self.brief())

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

    def test_brief_of_unknown_image_is_a_dash(self) -> None:
        self.assertEqual('-', self.brief(object_size=None))

    def test_brief_shows_refusals(self) -> None:
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
