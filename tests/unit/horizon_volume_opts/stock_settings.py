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
