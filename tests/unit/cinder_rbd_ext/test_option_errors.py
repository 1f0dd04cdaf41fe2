#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

from unittest import mock

import fixtures

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import option_errors
from cinder_rbd_ext import record
from rbd_volume_options import errors
from rbd_volume_options import keys
from tests.unit import base


class RefusalTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = mock.Mock(spec_set=['id'])
        self.recorded = self.useFixture(
            fixtures.MockPatchObject(
                record, 'refused', mock.create_autospec(record.refused)
            )
        ).mock

    def _refuse(self, key: str, to_tenant: bool) -> Exception:
        def refuse() -> None:
            with option_errors.of_volume(self.volume, 'ceph', to_tenant):
                raise errors.OptionError(
                    key, 'fast', 'no such pool', 'another', None
                )

        found: Exception = self.assertRaises(
            exceptions.VolumeOptionRefused, refuse
        )
        return found

    def test_for_the_tenant(self) -> None:
        error = self._refuse(keys.CACHE_MODE, to_tenant=True)
        self.assertIn("rbd:cache_mode = 'fast'", str(error))
        self.recorded.assert_called_once()
        self.assertIn('no such pool', self.recorded.call_args.args[1])

    def test_pools_are_not_for_tenants(self) -> None:
        error = self._refuse(keys.DATA_POOL, to_tenant=True)
        self.assertIn('fast', str(error))
        self.assertNotIn('fast', self.recorded.call_args.args[1])

    def test_nobody_waits(self) -> None:
        self._refuse(keys.CACHE_MODE, to_tenant=False)
        self.recorded.assert_not_called()

    def test_another_error(self) -> None:
        def fail() -> None:
            with option_errors.of_volume(self.volume, 'ceph', to_tenant=True):
                raise ValueError('unrelated')

        self.assertRaises(ValueError, fail)
        self.recorded.assert_not_called()
