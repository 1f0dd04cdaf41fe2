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

"""The Django application that the ``enabled`` file adds to Horizon."""

from django import apps

from horizon_volume_opts import hooks


class RBDVolumeOptionsConfig(apps.AppConfig):
    """Sets up the plug-in in Horizon once, before the first request."""

    name = 'horizon_volume_opts'
    verbose_name = 'RBD volume options'

    def ready(self) -> None:
        """Run every hook; Django calls this once per process."""
        hooks.run()
