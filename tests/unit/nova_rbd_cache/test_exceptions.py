# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Messages for operators."""

from nova_rbd_cache import exceptions
from tests.unit.nova_rbd_cache import base


class ExceptionsTest(base.NovaTestCase):
    def test_refused_names_all_there_is_to_know(self) -> None:
        error = exceptions.CacheModeRefused(
            volume_id='v', mode="'unsafe'", allowed='none'
        )
        self.assertEqual(
            "Volume v requests cache mode 'unsafe', which the compute host "
            'does not allow; allowed: none',
            str(error),
        )

    def test_cannot_register_tells_the_way_out(self) -> None:
        error = exceptions.CannotRegister(reason='no disk')
        self.assertIn('no disk', str(error))
        self.assertIn('enabled = False', str(error))
