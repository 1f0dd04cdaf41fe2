# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

from cinder import exception
from cinder.volume import volume_types
import ddt

from cinder_rbd_ext import own_volume_type
from tests.unit.cinder_rbd_ext import base


@ddt.ddt
class OwnVolumeTypeTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.types: list[dict[str, Any]] = []
        patch = mock.patch.object(volume_types, 'get_all_types', autospec=True)
        patch.start().side_effect = lambda *_, **__: self.types
        self.addCleanup(patch.stop)
        patch = mock.patch.object(volume_types, 'create', autospec=True)
        self.create = patch.start()
        self.addCleanup(patch.stop)

    def test_back_end_without_a_type_gets_one_when_it_starts(self) -> None:
        self.override_backend('volume_backend_name', 'ceph')
        self.driver.check_for_setup_error()
        self.create.assert_not_called()
        self.override_backend('rbd_ensure_volume_type', True)
        self.driver.check_for_setup_error()
        _, name, specs = self.create.call_args.args
        self.assertEqual('ceph', name)
        self.assertEqual(
            {'volume_backend_name': 'ceph', 'rbd:object_map': 'true'}, specs
        )

    @ddt.data(
        {'name': 'a', 'extra_specs': {'volume_backend_name': 'ceph'}},
        {'name': 'ceph', 'extra_specs': {}},
    )
    def test_existing_type_is_kept(self, existing: dict[str, Any]) -> None:
        self.types = [existing]
        own_volume_type.ensure('ceph', enables_object_map=True)
        self.create.assert_not_called()

    def test_service_starts_although_the_type_cannot_be_created(
        self,
    ) -> None:
        """Another service of the back end may be faster."""
        self.create.side_effect = exception.VolumeTypeExists(id='ceph')
        own_volume_type.ensure('ceph', enables_object_map=False)
        self.assertIn('Could not create', self.log.output)
