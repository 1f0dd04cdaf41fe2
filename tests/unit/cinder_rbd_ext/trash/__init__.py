# SPDX-License-Identifier: Apache-2.0

"""Tests of the Cinder driver without a service."""

# First of all: this patches the standard library for eventlet, which must
# precede whatever else Cinder's own tests import.
import cinder  # noqa: F401
from cinder import objects

# Each of Cinder's services does this too: modules use objects.Volume when they
# are imported.
objects.register_all()
