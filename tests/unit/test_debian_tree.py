# SPDX-License-Identifier: Apache-2.0

"""What programs in the tree of another release of Debian can see."""

import pathlib
import subprocess

import fixtures

from tests import tree
from tests.unit import base

# Mounts need root, and are shown instead.
_SCRIPT = """\
. "$0"
function mount_once { echo "$@"; }
mount_tree "$1"
printf '%s\\n' "${environ[@]}"
"""


class MountTreeTestCase(base.TestCase):
    def test_cluster_of_the_tests_is_available_with_its_keys(self) -> None:
        root = self.useFixture(fixtures.TempDir()).path
        etc = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        conf = etc / 'ceph.conf'
        conf.touch()
        name = 'RBD_TEST_CEPH_CONF'
        self.useFixture(fixtures.EnvironmentVariable(name, str(conf)))
        script = str(tree.ROOT / 'tools' / 'debian_tree.sh')
        command = ['bash', '-euc', _SCRIPT, script, root]
        shown = subprocess.check_output(command, text=True).splitlines()
        self.assertIn(f'{name}={conf}', shown)
        self.assertIn(f'--bind -o ro {etc} {root}{etc}', shown)
