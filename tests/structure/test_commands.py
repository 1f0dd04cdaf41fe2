# SPDX-License-Identifier: Apache-2.0

"""Each command is documented on a page and in a man page."""

import re
from unittest import mock

import ddt

from nova_rbd_cache import shell as nova_shell
from rbd_volume_tools import shell as cinder_shell
from tests import tree
from tests.structure import built
from tests.unit import base

_PAGES = tree.ROOT / 'doc' / 'source' / 'cli'
_SHELLS = {
    'cinder-rbd-ext': cinder_shell.Shell,
    'nova-rbd-cache': nova_shell.Shell,
}
#: Commands that cliff adds.
_COMMON = {'complete', 'help'}


def _names(group: str) -> list[str]:
    return list(tree.entry_points()[group])


def _described(page: str) -> set[str]:
    """Return the commands that a man page describes."""
    headings = re.findall(r'^\.SS (.*)$', page, re.MULTILINE)
    return {each.strip('"').replace('\\-', '-') for each in headings}


@ddt.ddt
class CommandsTestCase(base.TestCase):
    # The man pages are built.
    timeout = 600

    def setUp(self) -> None:
        super().setUp()
        self.pages = self.useFixture(built.ManPages()).texts

    def test_each_program_has_its_page(self) -> None:
        programs = _names('console_scripts')
        self.assertCountEqual(_SHELLS, programs)
        pages = {*programs, 'openstack-volume-rbd'}
        self.assertEqual(pages, set(self.pages))
        toctree = (_PAGES / 'index.rst').read_text().split()
        for name in pages:
            self.assertTrue((_PAGES / f'{name}.rst').is_file(), name)
            self.assertIn(name, toctree)

    @ddt.data(*_SHELLS)
    def test_each_command_of_a_program(self, program: str) -> None:
        # The checkout is not installed, so it has no version.
        with mock.patch(
            'importlib.metadata.version', autospec=True, return_value='1'
        ):
            manager = _SHELLS[program]().command_manager
        self.assertEqual(
            {name for name, _ in manager} - _COMMON,
            _described(self.pages[program]),
        )

    def test_each_command_of_the_client(self) -> None:
        names = _names('openstack.volume.v3')
        self.assertEqual(
            {name.replace('_', ' ') for name in names},
            _described(self.pages['openstack-volume-rbd']),
        )
