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

"""Our driver in a whole Nova, of which only libvirt and Cinder are fakes."""

import importlib.metadata
import os

from tests import alone

_NOVA = int(importlib.metadata.version('nova').partition('.')[0])
# As nova-compute runs: since 34 (2026.2) in threads, where Nova's tests would
# take eventlet. Before, what Nova spawns would wait for eventlet for ever.
if _NOVA >= 34:
    os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')
# In 32 (2025.2) the latter takes eventlet, in all others the former.
load_tests = alone.loader(__file__, 'nova.tests.functional', 'nova.test')
