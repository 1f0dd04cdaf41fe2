#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

import pathlib

import fixtures

from testrun import environment
from tests.unit import base


class MadeVenvTest(base.TestCase):
    """A venv of somebody else's."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        cache = str(self.folder / 'cache')
        self.useFixture(fixtures.EnvironmentVariable('XDG_CACHE_HOME', cache))
        self.made = self.folder / 'made'
        self.venv = environment.MadeVenv(environment.RELEASE, self.made)

    def test_is_left_as_it_is(self) -> None:
        (self.made / 'bin').mkdir(parents=True)
        python = self.made / 'bin' / 'python'
        python.touch(0o755)
        self.venv.prepare()
        found = {path for path in self.made.rglob('*') if path.is_file()}
        self.assertEqual({python}, found)

    def test_is_not_there(self) -> None:
        error = self.assertRaises(environment.CannotPrepare, self.venv.prepare)
        self.assertIn(str(self.made), str(error))
        self.assertFalse(self.made.exists())
