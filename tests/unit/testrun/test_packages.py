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

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from unittest import mock

import fixtures

from testrun import chroot
from testrun import environment
from testrun import outcome
from testrun import packages
from testrun import platform
from testrun import suite
from tests.unit import base


class PackagesTestCase(base.TestCase):
    """Where the part runs what; what it calls is canned."""

    def setUp(self) -> None:
        super().setUp()
        cache = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.EnvironmentVariable('XDG_CACHE_HOME', cache))
        self.useFixture(fixtures.EnvironmentVariable('RBD_TEST_INSIDE'))
        self.called: list[Any] = []

    def _inside(
        self,
        place: chroot.Chroot,
        part: str,
        venv: environment.Venv,
        filters: Sequence[str],
        environ: Mapping[str, str],
        versions: str,
    ) -> outcome.Outcome:
        self.called.append((place.suite, part, list(filters), dict(environ)))
        return outcome.PASSED

    def _suite(
        self, venv: environment.Venv, folder: str, filters: Sequence[str]
    ) -> outcome.Outcome:
        self.called.append((folder, list(filters)))
        return outcome.PASSED

    def _run(self, *filters: str) -> outcome.Outcome:
        with (
            mock.patch.object(
                platform, 'inside', autospec=True, side_effect=self._inside
            ),
            mock.patch.object(
                suite, 'run', autospec=True, side_effect=self._suite
            ),
            mock.patch.object(
                environment,
                'install_packages',
                autospec=True,
                side_effect=self.called.append,
            ),
            mock.patch.object(
                environment.Venv, 'link_bindings', autospec=True
            ),
        ):
            return packages.run(environment.Venv(), filters)

    def test_nothing_is_installed_on_the_machine_itself(self) -> None:
        self.assertEqual(outcome.PASSED, self._run('Nova'))
        self.assertEqual(
            [('trixie', 'packages', ['Nova'], {'RBD_TEST_INSIDE': '1'})],
            self.called,
        )

    def test_inside(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('RBD_TEST_INSIDE', '1'))
        self.assertEqual(outcome.PASSED, self._run('Nova'))
        self.assertEqual(
            ['functional', 'packages', ('tests/packages', ['Nova'])],
            self.called,
        )
