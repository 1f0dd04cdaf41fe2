# SPDX-License-Identifier: Apache-2.0

"""The limits on reads and writes of a volume type, in the dashboard."""

import uuid

from tests import runs
from tests.cloud import relay
from tests.cloud import volume_form


class LimitsTest(volume_form.FormTestCase):
    def limited_type(self, name: str) -> None:
        """Create a volume type whose QoS specs limit reads and writes."""
        self.make_type_named(name)
        answer = self.request('GET', '/types', cloud=self.operator)
        (ident,) = (
            each['id']
            for each in answer['volume_types']
            if each['name'] == name
        )
        body = {
            'qos_specs': {
                'name': name,
                'consumer': 'back-end',
                'total_iops_sec': '500',
                'write_bytes_sec': '104857600',
            }
        }
        made = self.request('POST', '/qos-specs', body, self.operator)
        path = f'/qos-specs/{made["qos_specs"]["id"]}'
        self.addCleanup(
            self.operator.block_storage.delete, f'{path}?force=True'
        )
        self.operator.block_storage.get(
            f'{path}/associate?vol_type_id={ident}'
        )

    def test_limits_of_the_type(self) -> None:
        name = f'limited-{uuid.uuid4().hex[:8]}'
        self.limited_type(name)
        self.open_form()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        self.shown_group()
        self.assertFalse(self.shown('#rbd_limits'))
        self.pick('type', name)
        limits = '500 operations per second, 100 MiB per second for writes'
        self.assertEqual(
            f'Limits of the volume type: {limits}.',
            self.text('#rbd_limits'),
        )
        self.submit()
        self.open(
            f'/project/volumes/{self.named(name)}/'
            '?tab=volume_details__rbd_volume_options'
        )
        shown = self.text('#volume_details__rbd_volume_options')
        self.screenshot('volume-details-limits')
        self.assertIn(f'{limits} set by the volume type', shown)
        self.assertIn('Default: set by the compute host', shown)
        self.check_accessible('#volume_details__rbd_volume_options')

    @runs.tags(runs.NIGHTLY)
    def test_limits_that_follow_from_the_size_and_more_options(self) -> None:
        name = f'by-size-{uuid.uuid4().hex[:8]}'
        self.make_type_named(
            name,
            **{
                'rbd:iops_limit_per_gib': '30',
                'rbd:iops_limit_minimum': '100',
                'rbd:iops_limit_maximum': '5000',
                'rbd:tenant_options': (
                    'rbd:object_size,rbd:object_map,rbd:iops_limit,'
                    'rbd:compression_hint'
                ),
            },
        )
        relay.forget_offers()
        limits = (
            '30 operations per second for each GiB of the volume, '
            'at least 100 operations per second, '
            'at most 5,000 operations per second'
        )
        volume = self.created()
        self.open(f'/project/volumes/{volume}/retype/')
        self.pick('volume_type', name)
        self.until_true(lambda: limits in self.text('[data-rbd-note]'))
        self.open_modal()
        self.fill('#id_name', name)
        self.pick('type', name)
        self.assertIn(limits, self.text('#rbd_limits'))
        self.shown_group()
        more = f'{volume_form.GROUP} details details'
        self.click(f'{more} summary')
        self.choose_value('#id_rbd_compression_hint', 'compressible')
        self.until_summary('(selected)')
        self.fill('#id_rbd_iops_limit', '200')
        self.whole_screenshot('more-options', more)
        self.submit()
        metadata = {
            'rbd:compression_hint': 'compressible',
            'rbd:iops_limit': '200',
        }
        self.assertEqual(metadata, self.metadata(self.named(name)))
