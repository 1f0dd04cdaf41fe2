# SPDX-License-Identifier: Apache-2.0

"""The units of systemd run commands that exist, and none that removes."""

import configparser
import pathlib
import re
import shlex
import shutil
import subprocess
from unittest import mock

import ddt
import fixtures

from rbd_volume_tools import shell
from tests import tree
from tests.unit import base

_FOLDER = tree.ROOT / 'etc/systemd'
_PROGRAM = 'cinder-rbd-ext'
_SERVICES = sorted(path.name for path in _FOLDER.glob('*.service'))


def _command(name: str) -> list[str]:
    """Return the words of the command of a unit, without its program."""
    unit = configparser.RawConfigParser(strict=False)
    unit.read(_FOLDER / name)
    words = shlex.split(unit['Service']['ExecStart'])
    if words[0] == '/bin/sh':
        words = shlex.split(words[-1].removeprefix('exec '))
    return [word for word in words[1:] if not word.startswith('$')]


@ddt.ddt
class SystemdTest(base.TestCase):
    @ddt.data(*_SERVICES)
    def test_command_exists_and_has_the_options(self, name: str) -> None:
        with mock.patch(
            'importlib.metadata.version', autospec=True, return_value='1'
        ):
            manager = shell.Shell().command_manager
            factory, _, words = manager.find_command(_command(name))
            parser = factory(mock.MagicMock(), None).get_parser('')
        parser.parse_args(words)

    @ddt.data(*_SERVICES)
    def test_nothing_is_removed_without_a_person(self, name: str) -> None:
        command = _command(name)
        self.assertIn(command[0], ('audit', 'exporter', 'clean', 'types'))
        if command[0] == 'types':
            self.assertEqual('ensure', command[1])
        if command[0] == 'clean':
            self.assertEqual('plan', command[1])

    @ddt.data(*_SERVICES)
    def test_only_a_plan_reads_files_of_other_users(self, name: str) -> None:
        """Packages give cinder.conf to the user of the service."""
        unit = configparser.RawConfigParser(strict=False)
        unit.read(_FOLDER / name)
        needed = 'CAP_DAC_READ_SEARCH' if 'clean' in name else ''
        self.assertEqual(needed, unit['Service']['CapabilityBoundingSet'])

    def test_each_timer_has_a_service(self) -> None:
        timers = {path.stem for path in _FOLDER.glob('*.timer')}
        self.assertLess(
            timers, {pathlib.Path(name).stem for name in _SERVICES}
        )

    def test_systemd_accepts_the_units(self) -> None:
        if shutil.which('systemd-analyze') is None:
            self.skipTest('systemd is not installed')
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for path in _FOLDER.iterdir():
            text = path.read_text()
            # The program need not be installed here.
            text = re.sub(
                f'^ExecStart={_PROGRAM}',
                'ExecStart=/bin/true',
                text,
                flags=re.MULTILINE,
            )
            (folder / path.name).write_text(text)
        self.assertEqual('', self._verified(folder))
        service = folder / _SERVICES[0]
        service.write_text(service.read_text().replace('Type=', 'Tipe='))
        self.assertIn('Tipe', self._verified(folder))

    def _verified(self, folder: pathlib.Path) -> str:
        done = subprocess.run(
            ['systemd-analyze', '--man=no', 'verify', *folder.iterdir()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        ours = [line for line in done.stderr.splitlines() if _PROGRAM in line]
        return '\n'.join(ours)
