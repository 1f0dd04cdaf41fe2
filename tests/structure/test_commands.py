# SPDX-License-Identifier: Apache-2.0

"""Each command is documented on a page and in a man page."""

import configparser
import pathlib
import re
from unittest import mock

import ddt

from nova_rbd_cache import shell as nova_shell
from rbd_volume_tools import shell as cinder_shell
from tests import tree
from tests.unit import base

_PAGES = tree.ROOT / 'doc' / 'source' / 'cli'
_MAN = tree.ROOT / 'doc' / 'man'
_SHELLS = {
    'cinder-rbd-ext': cinder_shell.Shell,
    'nova-rbd-cache': nova_shell.Shell,
}
#: Commands that cliff adds.
_COMMON = {'complete', 'help'}


def _names(group: str) -> list[str]:
    setup = configparser.ConfigParser(delimiters=('=',))
    setup.read(tree.ROOT / 'setup.cfg')
    lines = setup['entry_points'][group].splitlines()
    return [line.partition('=')[0].strip() for line in lines if line.strip()]


def _described(page: pathlib.Path) -> set[str]:
    """Return the commands that a man page describes."""
    headings = re.findall(r'^\.SS (.*)$', page.read_text(), re.MULTILINE)
    return {each.strip('"').replace('\\-', '-') for each in headings}


@ddt.ddt
class CommandsTestCase(base.TestCase):
    def test_each_program_has_its_page(self) -> None:
        programs = _names('console_scripts')
        self.assertCountEqual(_SHELLS, programs)
        pages = {*programs, 'openstack-volume-rbd'}
        self.assertEqual(pages, {path.stem for path in _MAN.iterdir()})
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
            _described(_MAN / f'{program}.1'),
        )

    def test_each_command_of_the_client(self) -> None:
        names = _names('openstack.volume.v3')
        self.assertEqual(
            {name.replace('_', ' ') for name in names},
            _described(_MAN / 'openstack-volume-rbd.1'),
        )
