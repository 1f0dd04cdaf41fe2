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

import pathlib

import fixtures

from testrun import environment
from testrun import life
from testrun import outcome
from tests.unit import base

# In the place of the venv's Python: shows how it was called.
_PYTHON = """\
#!/bin/sh
echo "called with $*, on $CLOUD"
echo 'failed: sequence 2 of seed 7: half-a-pair: v1'
echo '1 passed, 1 failed, 0 skipped'
exit 1
"""


class LifeTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.shown = self.useFixture(fixtures.StringStream('out')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.shown))

    def _run(self, program: str) -> outcome.Outcome:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        python = path / 'bin' / 'python'
        python.parent.mkdir()
        python.write_text(program)
        python.chmod(0o700)
        venv = environment.MadeVenv(environment.RELEASE, path)
        return life.run(venv, ['--seed', '7'], {'CLOUD': 'the sandbox'})

    def test_options_and_outcome(self) -> None:
        found = self._run(_PYTHON)
        self.assertEqual(outcome.Outcome(1, 1, 0), found)
        self.assertEqual(
            ['sequence 2 of seed 7: half-a-pair: v1'], list(found.failures)
        )
        self.shown.seek(0)
        self.assertIn(
            'called with -m tests.life --seed 7, on the sandbox',
            self.shown.read(),
        )

    def test_one_that_dies_has_failed(self) -> None:
        self.assertEqual(1, self._run('#!/bin/sh\nexit 3\n').failed)
