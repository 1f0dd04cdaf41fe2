# SPDX-License-Identifier: Apache-2.0
"""Install the commands alone, with each extra that the pages name."""

from tests import runs
from tests.install import fresh
from tests.structure import built
from tests.unit import base

# A command of each extra, which imports the modules of all other commands.
_COMMANDS = {
    'client': (
        ('cinder-rbd-ext', 'clean', 'plan', '--help'),
        ('openstack', 'volume', 'rbd', 'create', '--help'),
    ),
    'bench': (('cinder-rbd-ext', 'bench', 'plans'),),
    'exporter': (('cinder-rbd-ext', 'exporter', '--help'),),
}


class CommandsTest(base.TestCase):
    timeout = 900

    def _run(self, extra: str) -> None:
        wheel = self.useFixture(built.BuiltDistribution()).built.wheel
        environment = self.useFixture(
            fresh.FreshVenv(extra, wheel, with_service=False)
        )
        for command, *words in _COMMANDS[extra]:
            environment.execute(environment.program(command), *words)

    def test_extra_client_installs_what_its_commands_import(self) -> None:
        self._run('client')

    @runs.tags(runs.NIGHTLY)
    def test_extra_bench_installs_what_its_commands_import(self) -> None:
        self._run('bench')

    @runs.tags(runs.NIGHTLY)
    def test_extra_exporter_installs_what_its_commands_import(self) -> None:
        self._run('exporter')
