# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext`` of the checkout, which is not installed."""

from importlib import metadata
import sys
from unittest import mock

from rbd_volume_tools import program
from tests import checkout_commands

if __name__ == '__main__':
    checkout_commands.find()
    with mock.patch.object(metadata, 'version', autospec=True) as version:
        version.return_value = '1'
        sys.exit(program.main())
