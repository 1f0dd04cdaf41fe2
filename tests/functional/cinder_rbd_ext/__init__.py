# SPDX-License-Identifier: Apache-2.0

"""Tests of the Cinder driver on real Ceph."""

# First of all: this patches the standard library for eventlet, which must
# precede whatever else Cinder's own tests import.
# Cinder's tests replace locks by those of eventlet, before others are created.
from cinder.tests import unit  # noqa: F401
