# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any

from cinder import objects
import ddt
import oslo_messaging

from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import restrictions
from rbd_volume_options import errors
from rbd_volume_options import layout
from tests import option_values
from tests.unit.cinder_rbd_ext.api import base


@ddt.ddt
class RestrictionsTest(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.types_known = known_types.KnownTypes()
        self.restrictions = restrictions.Restrictions(
            pools.ReportedPools(), self.types_known
        )

    def _may_refuse(self, **values: Any) -> bool:
        return self.restrictions.may_refuse({'size': 1, **values})

    @ddt.data(
        {},
        {'volume_type': 'rbd', 'source_volid': 'x'},
        {'volume_type': 'any', 'snapshot_id': 'x'},
        {'volume_type': 'striped'},
        {'volume_type': 'striped', 'imageRef': 'x'},
        {'volume_type': 'striped', 'backup_id': 'x'},
        {'image_id': 'x'},
        {'size': None, 'volume_type': 'fake'},
    )
    def test_nothing_to_look_up(self, values: Any) -> None:
        self.assertFalse(self._may_refuse(**values))

    @ddt.data(
        {'volume_type': 'none such'},
        {'volume_type': 5},
        {'source_volid': 'x'},
        {'volume_type': 'striped', 'source_volid': 'x'},
        {'volume_type': 'striped', 'snapshot_id': 'x'},
        {'volume_type': 'striped', 'size': None},
        {'volume_type': 'striped', 'size': 'x'},
    )
    def test_what_must_be_looked_up(self, values: Any) -> None:
        self.assertTrue(self._may_refuse(**values))

    def test_known_size_cannot_be_refused_later(self) -> None:
        self.set_specs('striped', rbd__stripe_unit='1M', rbd__stripe_count='3')
        for values in ({}, {'imageRef': 'x'}, {'volume_type': 'striped'}):
            self.assertTrue(self._may_refuse(**values))
            self.assertFalse(self._may_refuse(size=3, **values))
        self.assertFalse(self._may_refuse(volume_type='rbd'))

    def test_size_that_librbd_refuses_is_a_bad_request(self) -> None:
        """Cinder would only say that the driver failed."""
        features = frozenset({'exclusive-lock', 'object-map', 'fast-diff'})
        default = dataclasses.replace(base.settings(), ceph_features=features)
        self.get_pools.return_value = [base.pool('rbd', default)]
        large = {'volume': {'size': 1 << 20, 'volume_type': 'rbd'}}
        words = ('up to 256,000,000 objects', 'Ceph configuration')
        self.refused(400, words, 'POST', '/volumes', large)
        self.assertTrue(self._may_refuse(volume_type='rbd', size=1 << 20))
        self.assertFalse(self._may_refuse(volume_type='rbd', size=60 << 10))

    def test_layout_of_a_back_end(self) -> None:
        striped = base.settings(
            option_values.level(
                errors.Origin.BACKEND, striping=layout.Striping(base.MIB, 3)
            )
        )
        self.get_pools.return_value = [base.pool('rbd', striped)]
        self.assertTrue(self._may_refuse(volume_type='rbd'))
        self.assertFalse(self._may_refuse(volume_type='rbd', size=3))
        self.assertFalse(self._may_refuse(volume_type='rbd2'))

    def test_changed_type(self) -> None:
        self.assertFalse(self._may_refuse(volume_type='rbd'))
        self.set_specs('rbd', rbd__stripe_unit='1M', rbd__stripe_count='3')
        self.types_known.forget()
        self.assertTrue(self._may_refuse(volume_type='rbd'))

    def _created(self) -> bool:
        """Create a volume and delete it: Cinder locks types in use."""
        response = self.call('POST', '/volumes', self.create())
        for volume in objects.VolumeList.get_all(self.admin_context):
            volume.destroy()
        if response.status_int == 400:
            self.assertIn('is not a multiple of 1 MiB x 3', response.text)
        return bool(response.status_int == 202)

    def test_type_that_is_changed_through_the_api(self) -> None:
        path = f'/types/{self.types["rbd"]}/extra_specs'
        count = f'{path}/rbd:stripe_count'
        self.assertTrue(self._created())
        specs = {'rbd:stripe_unit': '1M', 'rbd:stripe_count': '3'}
        self.ok('POST', path, {'extra_specs': specs}, app=self.admin)
        self.assertFalse(self._created())
        for number, created in (('4', True), ('3', False)):
            specs = {'rbd:stripe_count': number}
            self.ok('PUT', count, specs, app=self.admin)
            self.assertIs(created, self._created())
        self.ok('DELETE', f'{count}?with_partner=true', app=self.admin)
        self.assertTrue(self._created())

    def test_scheduler_that_does_not_respond(self) -> None:
        """The driver checks the volume."""
        self.get_pools.side_effect = oslo_messaging.MessagingTimeout()
        for _ in range(3):
            self.assertFalse(self._may_refuse())
            self.assertFalse(self._may_refuse(volume_type='striped'))
        self.assertEqual(1, self.get_pools.call_count)
