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
"""A service alone in its environment: without the suite, with it, without."""

from collections.abc import Sequence
import json
import os
import pathlib
import signal
import subprocess
import time
from typing import Any
from typing import ClassVar

import fixtures

from tests import tree
from tests.install import fresh
from tests.install import pages
from tests.structure import built
from tests.unit import base

#: Distributions of services, by the packages that they bring.
SERVICES = {
    'cinder': 'cinder',
    'glance': 'glance',
    'keystone': 'keystone',
    'neutron': 'neutron',
    'nova': 'nova',
    'openstack_dashboard': 'horizon',
    'placement': 'openstack-placement',
}

# Before the code of a probe. `get` asks a WSGI application, as a web server
# does, and `show` ends the process: without the threads that a service would
# wait for.
#: Before code that shows a value.
PRELUDE = """
import json, os, sys
from wsgiref import util

def get(application, path, **environ):
    environ = {'SCRIPT_NAME': '', 'PATH_INFO': path, **environ}
    util.setup_testing_defaults(environ)
    said = []
    def start(status, headers, *error):
        said.append(status)
    body = b''.join(application(environ, start))
    return [said[-1], body.decode('utf-8', 'replace')]

def show(value):
    modules = sorted({name.partition('.')[0] for name in sys.modules})
    print()
    print(json.dumps({'value': value, 'modules': modules}), flush=True)
    os._exit(0)
"""


class InstallTestCase(base.TestCase):
    """Steps that the test of each service takes."""

    timeout = 900

    #: The distribution of the service.
    service: ClassVar[str]
    #: Those of our packages that the service loads.
    ours: ClassVar[tuple[str, ...]]
    #: The page that tells how to install.
    page: ClassVar[str]

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.fresh = self.environment()
        self.stock = self.fresh.distributions()

    # Steps

    def environment(self) -> fresh.Environment:
        """Return where the service is, without the suite."""
        self.wheel = self.useFixture(built.BuiltDistribution()).built.wheel
        return self.useFixture(fresh.FreshVenv(self.service, self.wheel))

    def check_nothing_else(self) -> None:
        """Nothing of another service is in the environment."""
        others = set(SERVICES.values()) - {self.service}
        self.assertEqual(set(), self.stock & others)
        self.assertIn(self.service, self.stock)

    def check_extra(self) -> None:
        """The extra brings the service, and nothing that it hasn't."""
        self.assertEqual(
            self.stock | {fresh.SUITE}, self.fresh.brought_by_extra
        )

    def install_as_documented(self, **environ: str) -> None:
        """Do what the page says; nothing but the suite is new then."""
        script = pages.script(
            self.page, self.service, self.fresh.path, self.wheel
        )
        self.assertIn(str(self.wheel), script)
        self.fresh.execute('bash', '-euxc', script, **environ)
        self.assertEqual(
            self.stock | {fresh.SUITE}, self.fresh.distributions()
        )

    def uninstall(self) -> None:
        """Remove the suite; nothing of it stays."""
        self.fresh.execute('pip', 'uninstall', '--yes', fresh.SUITE)
        self.assertEqual(self.stock, self.fresh.distributions())
        left = [
            package
            for package in tree.PACKAGES
            if (self.fresh.site / package).exists()
        ]
        self.assertEqual([], left)

    # What runs in the environment

    def write(self, name: str, *texts: str) -> str:
        """Write a file into the folder of the test; return its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('\n'.join(texts))
        return str(path)

    def probe(
        self,
        code: str,
        *arguments: str,
        ours: Sequence[str] = (),
        **environ: str,
    ) -> Any:
        """Run code in the environment; return what it shows.

        :param ours: which of our packages it has to load; it may load no
            other, and nothing of another service
        """
        command = [self.fresh.program('python'), '-c', PRELUDE + code]
        shown = self.fresh.execute(*command, *arguments, **environ)
        found = json.loads(shown.splitlines()[-1])
        modules = set(found['modules'])
        self.assertEqual(set(ours), modules & set(tree.PACKAGES))
        own = {
            package
            for package, distribution in SERVICES.items()
            if distribution == self.service
        }
        self.assertEqual(own, modules & set(SERVICES))
        return found['value']

    def log_of_start(self, *command: str, until: str) -> str:
        """Start a service; return its log when it says something; end it.

        :param until: what it says then
        """
        path = self.folder / 'log'
        with path.open('w') as out:
            process = subprocess.Popen(
                command,
                cwd=self.fresh.path,
                env=self.fresh.environ(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                # Its own processes end with it.
                start_new_session=True,
            )
        try:
            return self._wait(process, path, until)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _wait(
        self, process: subprocess.Popen[bytes], path: pathlib.Path, until: str
    ) -> str:
        deadline = time.monotonic() + 120
        while until not in (log := path.read_text(errors='replace')):
            if process.poll() is not None or time.monotonic() > deadline:
                self.fail(f'{process.args!r} does not say {until!r}:\n{log}')
            time.sleep(0.2)
        return log
