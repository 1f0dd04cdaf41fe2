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

import os
import pathlib

import fixtures

from testrun import environment
from testrun import sandbox
from tests.unit import base

# Stands in for tools/sandbox: keeps what it was asked, and whether it is up.
_FAKE = """\
#!/bin/bash
cd "$(dirname "$0")"
echo "$*" >> calls
case $1 in
    status) [[ -e is_up ]] ;;
    up) [[ ! -e broken ]] && touch is_up ;;
    down) rm -f is_up ;;
    env) echo "export OS_AUTH_URL='http://127.0.0.1/a b'"
         echo "export PATH=/elsewhere:$PATH" ;;
esac
"""

_UP = f'up --release {environment.RELEASE}'


class SandboxTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        script = self.folder / 'sandbox'
        script.write_text(_FAKE)
        script.chmod(0o755)
        self.useFixture(
            fixtures.MonkeyPatch('testrun.sandbox._SANDBOX', str(script))
        )
        self.useFixture(fixtures.EnvironmentVariable('KEEP'))
        self.useFixture(fixtures.EnvironmentVariable('OS_AUTH_URL'))

    def _calls(self) -> list[str]:
        return (self.folder / 'calls').read_text().splitlines()

    def test_up_gives_what_clients_need(self) -> None:
        environ = sandbox.up()
        self.assertTrue((self.folder / 'is_up').exists())
        self.assertEqual('http://127.0.0.1/a b', environ['OS_AUTH_URL'])
        self.assertNotIn('PATH', environ)
        self.assertLess(len(environ), len(os.environ))
        self.assertEqual([_UP, 'env'], self._calls())

    def test_up_of_another_release(self) -> None:
        sandbox.up('2025.1')
        self.assertIn('up --release 2025.1', self._calls())

    def test_ended_after_all_that_use_it(self) -> None:
        with sandbox.ended_after():
            sandbox.up()
            sandbox.up()
            self.assertTrue((self.folder / 'is_up').exists())
        self.assertEqual(
            ['status', _UP, 'env', _UP, 'env', 'down --keep-venv'],
            self._calls(),
        )

    def test_ended_when_tests_break_off(self) -> None:
        def run() -> None:
            with sandbox.ended_after():
                sandbox.up()
                raise KeyboardInterrupt

        self.assertRaises(KeyboardInterrupt, run)
        self.assertEqual('down --keep-venv', self._calls()[-1])

    def test_leaves_up_what_was_up(self) -> None:
        (self.folder / 'is_up').touch()
        with sandbox.ended_after():
            sandbox.up()
        self.assertEqual(['status', _UP, 'env'], self._calls())

    def test_leaves_it_up_when_asked_to(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('KEEP', '1'))
        with sandbox.ended_after():
            sandbox.up()
        self.assertEqual(['status', _UP, 'env'], self._calls())

    def test_what_did_not_come_up_is_cleared_away(self) -> None:
        (self.folder / 'broken').touch()

        def run() -> None:
            with sandbox.ended_after():
                sandbox.up()

        self.assertRaises(sandbox.SandboxFailed, run)
        self.assertEqual(['status', _UP, 'down --keep-venv'], self._calls())
