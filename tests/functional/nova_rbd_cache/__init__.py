# SPDX-License-Identifier: Apache-2.0

"""Our driver in a whole Nova, of which only libvirt and Cinder are fakes."""

import importlib.metadata
import os

from tests import runs

_NOVA = int(importlib.metadata.version('nova').partition('.')[0])
# As nova-compute runs: since 34 (2026.2) in threads, where Nova's tests would
# take eventlet. Before, what Nova spawns would wait for eventlet for ever.
if _NOVA >= 34:
    os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')
# In 32 (2025.2) the latter takes eventlet, in all others the former.
load_tests = runs.alone(__file__, 'nova.tests.functional', 'nova.test')
