# SPDX-License-Identifier: Apache-2.0

"""The limits on reads and writes of a volume type, in the dashboard."""

import uuid

from tests.cloud import volume_form


class LimitsTest(volume_form.FormTestCase):
    def limited_type(self, name: str) -> None:
        """Create a volume type whose QoS specs limit reads and writes."""
        self.make_type_named(name)
        found = self.request('GET', '/types', cloud=self.operator)
        (ident,) = (
            each['id']
            for each in found['volume_types']
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
        self.assertFalse(self.shown('[data-rbd-limits]'))
        self.pick('type', name)
        limits = '500 operations per second, 100 MiB per second for writes'
        self.assertEqual(
            f'Limits of the volume type: {limits}.',
            self.text('[data-rbd-limits]'),
        )
        self.submit()
        self.open(
            f'/project/volumes/{self.named(name)}/'
            '?tab=volume_details__rbd_volume_options'
        )
        shown = self.text('#volume_details__rbd_volume_options')
        self.screenshot('volume-details-limits')
        self.assertIn(f'{limits} (set by the volume type)', shown)
        self.assertIn('Default: set by the compute host', shown)
        self.check_accessible('#volume_details__rbd_volume_options')
