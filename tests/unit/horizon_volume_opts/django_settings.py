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

"""Horizon's test settings with the plug-in's ``enabled`` file."""

import pathlib

from openstack_dashboard import enabled

import horizon_volume_opts

# Equivalent to copying the file there, as in an installation.
_OURS = pathlib.Path(horizon_volume_opts.__file__).parent / 'enabled'
if str(_OURS) not in enabled.__path__:
    enabled.__path__.append(str(_OURS))

from tests.unit.horizon_volume_opts.stock_settings import *  # noqa: E402,F403,H303
