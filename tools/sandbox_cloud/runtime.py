# SPDX-License-Identifier: Apache-2.0

"""The runtime of the services of a cloud: folders, programs, templates."""

from __future__ import annotations

import os
import pathlib
import subprocess

import jinja2

from sandbox_cloud import errors
from sandbox_cloud import processes
from sandbox_cloud import supervise
from sandbox_cloud.api import Api
from sandbox_cloud.api import KEYSTONE
from sandbox_cloud.api import REGION
from sandbox_cloud.state import State
from sandbox_cloud.state import write_private
from sandbox_cloud.suite import SuiteVenv

_TEMPLATES = pathlib.Path(__file__).parent / 'templates'
# Programs that replace programs of the system with the same name.
_SHIMS = pathlib.Path(__file__).parent / 'shims'
# Cinder's services use native threads instead of eventlet; glibc has fewer
# arenas for the memory of threads.
_PASSED = ('OS_CINDER_DISABLE_EVENTLET_PATCHING', 'MALLOC_ARENA_MAX')
_SYSTEM_PATH = '/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin'


class Runtime:
    """The runtime of one release in one state folder, for all services."""

    def __init__(self, state: State, release: str) -> None:
        self.state = state
        self.release = release
        self.venv = SuiteVenv(state, release)
        self.supervisor = supervise.Supervisor(state, self.environ())
        self.api = Api(state.secret('admin'))
        loader = jinja2.FileSystemLoader(_TEMPLATES)
        # No autoescaping: these are configuration files, not web pages.
        self._templates = jinja2.Environment(  # noqa: S701
            loader=loader,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def environ(self) -> dict[str, str]:
        """Return the environment of everything that runs in the cloud.

        Of the caller's variables, it contains only the choice of Cinder's
        threads: a PYTHONPATH, a proxy or another OS_* variable must not affect
        the services.
        """
        folders = (self.state.bin, _SHIMS, self.venv.path / 'bin')
        path = ':'.join(map(str, (*folders, _SYSTEM_PATH)))
        passed = {k: v for k in _PASSED if (v := os.environ.get(k))}
        return {
            **passed,
            'HOME': str(self.state.data / 'home'),
            'LANG': 'C.UTF-8',
            'PATH': path,
            processes.MARK: str(self.state.run),
        }

    def render(
        self, template: str, target: pathlib.Path, **values: object
    ) -> pathlib.Path:
        """Write a configuration file from its template."""
        text = self._templates.get_template(f'{template}.j2').render(
            state=self.state,
            venv=self.venv.path,
            secret=self.state.secret,
            keystone=KEYSTONE,
            region=REGION,
            **values,
        )
        write_private(target, text)
        return target

    def execute(self, name: str, *command: str, **environ: str) -> None:
        """Run a command of the cloud until it ends; log its output."""
        log = self.state.log / f'{name}.log'
        with log.open('a') as out:
            done = subprocess.run(
                command,
                env={**self.environ(), **environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                check=False,
            )
        if done.returncode:
            tail = '\n  '.join(log.read_text().splitlines()[-10:])
            raise errors.SandboxError(
                f'{name} failed with {done.returncode}. The end of '
                f'{log}:\n  {tail}'
            )
