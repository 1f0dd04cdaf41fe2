# SPDX-License-Identifier: Apache-2.0

import pathlib
import subprocess

import fixtures

from tests.unit.sandbox_cloud.services import base

# Fails twice: the port mapper is not yet there.
_EPMD = '#!/bin/sh\necho >> {calls}\n[ "$(wc -l < {calls})" -gt 2 ]\n'


class RabbitMQTestCase(base.ServiceTestCase):
    def test_the_broker_starts_after_the_port_mapper(self) -> None:
        service = self.cloud.services['rabbitmq']
        (program,) = (
            each for each in service.programs() if each.name == 'rabbitmq'
        )
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        calls, broker = folder / 'calls', folder / 'broker'
        for path, text in (
            (folder / 'epmd', _EPMD.format(calls=calls)),
            (broker, f'#!/bin/sh\nexec cat {calls}\n'),
        ):
            path.write_text(text)
            path.chmod(0o700)
        command = [
            word.replace('/usr/lib/rabbitmq/bin/rabbitmq-server', str(broker))
            for word in program.command
        ]
        done = subprocess.run(
            command,
            env={'PATH': f'{folder}:/usr/bin:/bin'},
            capture_output=True,
            check=True,
        )
        self.assertEqual(b'\n\n\n', done.stdout)
