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

"""The Django application."""

from unittest import mock

from django import apps

from horizon_volume_opts import hooks
from tests.unit import base


class ConfigTestCase(base.TestCase):
    def test_ready_runs_the_hooks(self) -> None:
        config = apps.apps.get_app_config('horizon_volume_opts')
        with mock.patch.object(hooks, 'run', autospec=True) as run:
            config.ready()
        run.assert_called_once_with()
