# SPDX-License-Identifier: Apache-2.0

"""Horizon's test settings, for a process that also runs other tests."""

import socket
import tempfile
from unittest import mock

# They leave a key in the temporary folder and set a default timeout for all
# sockets of the process. Neither must outlast this import.
_limit = socket.getdefaulttimeout()
with (
    tempfile.TemporaryDirectory() as _scratch,
    mock.patch.object(tempfile, 'tempdir', _scratch),
):
    from openstack_dashboard.test.settings import *  # noqa: F403,H303
socket.setdefaulttimeout(_limit)

# Django's runner, which creates a test database, is not used. The tests only
# open transactions and read no table.
DATABASES = {
    'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}
}

# Pages contain the tags of their scripts and styles as they are: to combine
# the files of each page takes half of the time of these tests.
COMPRESS_ENABLED = False
COMPRESS_PRECOMPILERS = ()
