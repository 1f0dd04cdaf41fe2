# SPDX-License-Identifier: Apache-2.0

"""Commands for operators, as processes on real Ceph.

The processes must not import Cinder, which would patch the standard library
for eventlet.
"""

from tests import checkout_commands

checkout_commands.find()
