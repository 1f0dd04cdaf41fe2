# SPDX-License-Identifier: Apache-2.0

import os

import compiled

from tests import checkout_commands
from tests import runs

# Trio, which Selenium needs, has a plug-in for hypothesis. It cannot be
# imported after eventlet has replaced the sockets.
os.environ['HYPOTHESIS_NO_PLUGINS'] = '1'
compiled.write()
checkout_commands.find()

load_tests = runs.loader(__file__)
