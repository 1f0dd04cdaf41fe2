# SPDX-License-Identifier: Apache-2.0

import os

from tests import runs

# As nova-compute runs since 2026.2; Nova's tests would take eventlet.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')

load_tests = runs.alone(__file__, 'nova.tests.unit')
