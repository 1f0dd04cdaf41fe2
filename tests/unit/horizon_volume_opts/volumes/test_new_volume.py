# SPDX-License-Identifier: Apache-2.0

"""The group of the forms that create a volume, by requests of the script."""

import ddt
from django.core import cache
import requests.exceptions

from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts.volumes import test_create

_CUSTOM = {'rbd_choice': 'custom'}
_STRIPED = {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '8'}


@ddt.ddt
class GroupTest(test_create.FormTestCase):
    def test_default_shows_no_field(self) -> None:
        response = self.group(size='2')
        self.assertNotIn('<select', response['html'])
        self.assertEqual({}, response['metadata'])
        self.assertTrue(response['is_valid'])

    def test_custom_shows_layout_and_object_map_each_with_a_sentence(
        self,
    ) -> None:
        html = self.group(size='2', **_CUSTOM)['html']
        for name in (
            'object_size',
            'stripe_unit',
            'stripe_count',
            'object_map',
        ):
            self.assertIn(f'id="id_rbd_{name}_hint"', html)
        self.assertNotIn('rbd_features', html)
        self.assertNotIn('percent', html)
        self.assertIn('2 GiB = 512 objects of 4\xa0MiB', html)

    def test_default_and_its_origin_are_in_the_list(self) -> None:
        html = self.group(**_CUSTOM)['html']
        self.assertIn('Default: 4 MiB (set by the back end)', html)
        self.assertIn('Default: Yes (set by the volume type)', html)

    def test_values_are_checked_as_they_are_on_submission(self) -> None:
        """A count with a space was an error in the browser only."""
        for values, is_valid in (
            ({**_STRIPED, 'rbd_stripe_count': ' 8'}, True),
            ({**_STRIPED, 'rbd_stripe_count': '8x'}, False),
            ({**_STRIPED, 'rbd_stripe_count': '3'}, False),
            ({'rbd_object_size': '3M'}, False),
            ({'size': '99999999', 'rbd_object_map': 'true'}, False),
        ):
            response = self.group(**{'size': '1', **values, **_CUSTOM})
            self.assertEqual(is_valid, response['is_valid'], str(values))
            self.assertEqual(
                not is_valid, 'role="alert"' in response['html'], str(values)
            )
            posted = self.post(**{'size': '1', **values})
            errors = posted.context and posted.context['form'].errors
            # The quota is smaller than the largest size here.
            if values.get('size') is None:
                self.assertEqual(is_valid, not errors, str(values))

    def test_stripe_unit_proposes_a_count(self) -> None:
        response = self.group(
            size='1', rbd_stripe_unit='64K', changed='rbd_stripe_unit'
        )
        self.assertEqual('8', response['metadata']['rbd:stripe_count'])
        self.assertTrue(response['is_valid'])
        response = self.group(
            size='1', rbd_stripe_count='8', changed='rbd_stripe_unit'
        )
        self.assertEqual({}, response['metadata'])

    def test_count_that_is_about_to_be_completed_is_no_error(self) -> None:
        response = self.group(
            size='1', rbd_stripe_count='8', changed='rbd_stripe_count'
        )
        self.assertFalse(response['is_valid'])
        self.assertNotIn('role="alert"', response['html'])
        response = self.group(size='1', rbd_stripe_count='8', changed='size')
        self.assertIn('role="alert"', response['html'])

    def test_units_above_the_object_size_are_not_listed(self) -> None:
        html = self.group(rbd_object_size='1M', **_CUSTOM)['html']
        unit = html.partition('id="id_rbd_stripe_unit"')[2]
        unit = unit.partition('</select>')[0]
        self.assertIn('<option value="1M">1\xa0MiB<', unit)
        self.assertIn('<option value="512">512\xa0B<', unit)
        self.assertNotIn('>2\xa0MiB<', unit)

    def test_another_type_keeps_values_until_default_is_selected(self) -> None:
        response = self.group(type='lvm', **_STRIPED, **_CUSTOM)
        self.assertFalse(response['is_valid'])
        self.assertIn('no back end', response['html'])
        self.assertEqual(1, response['html'].count('role="alert"'))
        response = self.group(type='lvm', **_STRIPED, rbd_choice='default')
        self.assertEqual('', response['html'].strip())
        self.assertEqual({}, response['metadata'])

    def test_type_without_options_shows_nothing(self) -> None:
        self.assertEqual('', self.group(type='lvm')['html'].strip())

    @ddt.data('constructor', '__proto__', 'a "quoted" <b>')
    def test_whatever_a_type_is_called(self, name: str) -> None:
        self.assertEqual('', self.group(type=name)['html'].strip())
        self.cloud.types.append(fake_cloud.offered(name))
        self.assertIn('(default)', self.group(type=name)['html'])

    def test_limits_of_the_type_are_shown(self) -> None:
        self.cloud.types[0]['qos_limits'] = fake_cloud.LIMITS
        self.assertIn('500 reads per second', self.group()['html'])

    def test_limit_for_each_gib_follows_the_size(self) -> None:
        self.cloud.types = [
            fake_cloud.offered('rbd', iops_limit={'per_gib': 30})
        ]
        html = self.group(size='10', **_CUSTOM)['html']
        self.assertIn('10 to 300 with this volume type.', html)

    def test_says_whether_any_type_has_options(self) -> None:
        self.assertTrue(self.group(type='lvm')['is_offered'])
        cache.cache.clear()
        self.cloud.types = [fake_cloud.not_offered('lvm')]
        self.assertFalse(self.group(type='lvm')['is_offered'])


class SourceTest(test_create.FormTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cloud.add_volume('v')
        self.cloud.snapshots['s'] = {'id': 's', 'volume_id': 'v', 'size': 1}

    def test_source_that_is_not_selected_yet_shows_nothing(self) -> None:
        for kind in ('volume_source', 'snapshot_source'):
            html = self.group(volume_source_type=kind)['html']
            self.assertEqual('', html.strip())

    def test_layout_of_the_source_is_the_default(self) -> None:
        for kind, ident in (('volume_source', 'v'), ('snapshot_source', 's')):
            html = self.group(
                volume_source_type=kind, type='', **{kind: ident}, **_CUSTOM
            )['html']
            self.assertIn('× 8'.replace(' ', '\xa0'), html)
            self.assertIn('Default: 8 MiB (same as the source)', html)
            # The data of a source decide on the sectors.
            self.assertNotIn('sector_size', html)

    def test_source_without_striping_says_so(self) -> None:
        self.cloud.volumes['v'].update(
            {
                f'{fake_cloud.ALIAS}:stripe_unit': 2**23,
                f'{fake_cloud.ALIAS}:stripe_count': 1,
            }
        )
        html = self.group(volume_source='v', **_CUSTOM)['html']
        self.assertIn('Default: no striping (same as the source)', html)

    def test_source_that_cannot_be_read(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/volumes/v': requests.exceptions.Timeout('slow')
        }
        response = self.group(volume_source='v')
        self.assertIn('source of the volume is not', response['html'])
        response = self.group(volume_source='v', rbd_object_size='1M')
        self.assertFalse(response['is_valid'])
        self.assertIn('role="alert"', response['html'])

    def test_glance_image_overrides_the_layout_of_ceph(self) -> None:
        self.cloud.types = [
            fake_cloud.offered(
                'rbd', object_size={'default_from': 'Ceph configuration'}
            )
        ]
        html = self.group(
            volume_source_type='image_source', image_source='i', **_CUSTOM
        )['html']
        self.assertIn('Default: same as the image', html)
