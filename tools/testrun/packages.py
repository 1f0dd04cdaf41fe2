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

"""The suite as Debian packages, next to those of the services.

In the folder that holds the second release of Debian, which has OpenStack
2025.1 in packages of its own. What runs there installs packages, and is for
no machine that is used for anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
import os

from testrun import chroot
from testrun import environment
from testrun import outcome
from testrun import platform
from testrun import suite

# Set for the run inside, which has the tests themselves to run.
_INSIDE = 'RBD_TEST_INSIDE'

_VERSIONS = r"""
dpkg-query --show -f '  ${Package} ${Version}\n' \
    cinder-volume nova-compute glance-api openstack-dashboard
"""


def run(venv: environment.Venv, filters: Sequence[str]) -> outcome.Outcome:
    """Build the packages inside, and install and remove each."""
    if os.environ.get(_INSIDE):
        for profile in ('functional', 'packages'):
            environment.install_packages(profile)
        venv.link_bindings()
        return suite.run(venv, 'tests/packages', filters)
    return platform.inside(
        chroot.Chroot(platform.SUITE),
        'packages',
        venv,
        filters,
        {_INSIDE: '1'},
        _VERSIONS,
    )
