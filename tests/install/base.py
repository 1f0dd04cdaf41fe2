# SPDX-License-Identifier: Apache-2.0
"""Install a service alone, then with the suite, then without it again."""

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

#: Distributions of services, by the top-level packages that they install.
SERVICES = {
    'cinder': 'cinder',
    'glance': 'glance',
    'keystone': 'keystone',
    'neutron': 'neutron',
    'nova': 'nova',
    'openstack_dashboard': 'horizon',
    'placement': 'openstack-placement',
}

# Runs before the code of a probe. `get` calls a WSGI application as a web
# server does, and `show` ends the process without waiting for the threads of a
# service.
#: Runs before code that shows a value.
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
    """Steps of the installation tests of all services."""

    timeout = 900

    #: The distribution of the service.
    service: ClassVar[str]
    #: The packages of the suite that the service loads.
    ours: ClassVar[tuple[str, ...]]
    #: The page with the installation steps.
    page: ClassVar[str]

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.fresh = self.environment()
        self.stock = self.fresh.distributions()

    # Installation steps

    def environment(self) -> fresh.Environment:
        """Create an environment with the service and without the suite."""
        self.wheel = self.useFixture(built.BuiltDistribution()).built.wheel
        return self.useFixture(fresh.FreshVenv(self.service, self.wheel))

    def check_nothing_else(self) -> None:
        """Check that no other service is in the environment."""
        others = set(SERVICES.values()) - {self.service}
        self.assertEqual(set(), self.stock & others)
        self.assertIn(self.service, self.stock)

    def check_extra(self) -> None:
        """Check that the extra installs only the service and the suite."""
        self.assertEqual(
            self.stock | {fresh.SUITE}, self.fresh.brought_by_extra
        )

    def install_as_documented(self, **environ: str) -> None:
        """Follow the page; check that only the suite is added."""
        script = pages.script(
            self.page, self.service, self.fresh.path, self.wheel
        )
        self.assertIn(str(self.wheel), script)
        self.fresh.execute('bash', '-euxc', script, **environ)
        self.assertEqual(
            self.stock | {fresh.SUITE}, self.fresh.distributions()
        )

    def uninstall(self) -> None:
        """Uninstall the suite and check that nothing remains."""
        self.fresh.execute('pip', 'uninstall', '--yes', fresh.SUITE)
        self.assertEqual(self.stock, self.fresh.distributions())
        left = [
            package
            for package in tree.PACKAGES
            if (self.fresh.site / package).exists()
        ]
        self.assertEqual([], left)

    # Programs in the environment

    def write(self, name: str, *texts: str) -> str:
        """Write a file in the folder of the test and return its path."""
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
        """Run code in the environment and return the value that it shows.

        :param ours: the packages of the suite that the code must load; it may
            load no others, and no package of another service
        """
        command = [self.fresh.program('python'), '-c', PRELUDE + code]
        shown = self.fresh.execute(*command, *arguments, **environ)
        answer = json.loads(shown.splitlines()[-1])
        modules = set(answer['modules'])
        self.assertEqual(set(ours), modules & set(tree.PACKAGES))
        own = {
            package
            for package, distribution in SERVICES.items()
            if distribution == self.service
        }
        self.assertEqual(own, modules & set(SERVICES))
        return answer['value']

    def log_of_start(self, *command: str, until: str) -> str:
        """Start a service, wait for a message, end it and return its log.

        :param until: the message to wait for
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
                # The service's child processes end with it.
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
