# SPDX-License-Identifier: Apache-2.0

"""Runs the program ``rally``, with a database of its own in a folder."""

from collections.abc import Callable
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
from typing import Any

from rbd_bench import processes
from rbd_bench.control_plane import cloud

#: What an operator installs.
PACKAGE = 'rally-openstack'
_ENVIRONMENT = 'bench'
#: Seconds after which an operation on a volume or a server has failed.
_PATIENCE = 600
_STARTED = re.compile(r'Task .*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})')
_DONE = re.compile(r'\(completed (\d+) of (\d+)')
_SHOWN = 1500
#: Status of ``rally task start`` if a criterion of success was not met.
_CRITERION = 2

#: Called with the number of workloads that a task has ended.
Show = Callable[[int], None]


def _configuration(folder: pathlib.Path, prefix: str, poll: float) -> str:
    """Return the content of a configuration file of rally.

    :param prefix: with which names of volumes and servers begin
    :param poll: seconds between two queries of the status of a volume
    """
    options: dict[str, Any] = {'cinder_volume_create_prepoll_delay': 0}
    for action in ('cinder_volume_create', 'cinder_volume_delete'):
        options[f'{action}_poll_interval'] = poll
        options[f'{action}_timeout'] = _PATIENCE
    # rally waits for an attachment with the options of a resize.
    for action in ('nova_server_resize_revert', 'nova_detach_volume'):
        options[f'{action}_poll_interval'] = poll
        options[f'{action}_timeout'] = _PATIENCE
    for action in ('nova_server_boot', 'nova_server_delete'):
        options[f'{action}_timeout'] = _PATIENCE
    # rally replaces each X by a random character.
    unique = 'XXXXXXXX-XXXXXXXX'
    return '\n'.join(
        (
            '[DEFAULT]',
            f'scenario_resource_name_format = {prefix}-s-{unique}',
            f'context_resource_name_format = {prefix}-c-{unique}',
            '[database]',
            f'connection = sqlite:///{folder}/rally.sqlite',
            '[openstack]',
            *(f'{name} = {value}' for name, value in options.items()),
            '',
        )
    )


class Rally:
    """The program, and a folder for its files.

    :param program: name or path of the program
    :param folder: an empty folder that only this user can read: the database
        has the password of the cloud
    :param prefix: names of volumes and servers begin with it
    """

    def __init__(
        self, program: str, folder: pathlib.Path, prefix: str
    ) -> None:
        self._program = program
        self._folder = folder
        self._prefix = prefix
        # The password is in the file of the environment only.
        self._env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith('OS_')
        }

    def versions(self) -> dict[str, str]:
        """Return the versions of rally and of its plug-ins.

        :raises EngineError: if rally, or its plug-in of OpenStack, is not
            installed
        """
        if shutil.which(self._program) is None:
            raise processes.EngineError(
                f'{self._program} is not installed. Install {PACKAGE} in a '
                'virtual environment of its own, and name its program with '
                '--rally.'
            )
        versions = {}
        for line in self._call('version').splitlines():
            name, colon, version = line.partition(':')
            if colon and version.strip():
                key = name.strip().lower().replace('_', '-')
                versions[key.removesuffix(' version')] = version.strip()
        if PACKAGE not in versions:
            raise processes.EngineError(
                f'{self._program}: {PACKAGE} is not installed in the '
                f'environment of rally. Install it there.'
            )
        return versions

    def prepare(self, user: cloud.User) -> None:
        """Create the database and the environment.

        :raises EngineError: if rally fails
        """
        config = self._config(1.0)
        specification = self._folder / 'environment.json'
        specification.touch(0o600)
        specification.write_text(json.dumps(user.specification()))
        self._call('db', 'create', config=config)
        self._call(
            *('env', 'create', '--no-use', '--name', _ENVIRONMENT),
            *('--spec', str(specification)),
            config=config,
            secret=user.password,
        )

    def run(
        self, task: str, poll: float, log: pathlib.Path, show: Show
    ) -> Any:
        """Run a task and return its results, as rally reports them.

        On an interrupt, rally ends the running iterations and removes what it
        has created. Then the interrupt continues.

        :param task: the text of the task file
        :param poll: seconds between two queries of the status of a volume
        :param log: the file for rally's messages
        :raises EngineError: if rally fails
        """
        config = self._config(poll)
        path = self._folder / 'task.json'
        path.write_text(task)
        words = [self._program, '--config-file', str(config), 'task']
        with processes.running(
            [*words, 'start', str(path), '--env', _ENVIRONMENT, '--no-use'],
            self._env,
            log,
        ) as child:
            try:
                while child.poll() is None:
                    show(_ended(log))
                    time.sleep(0.5)
            except KeyboardInterrupt:
                self._abort(config, log, child)
                raise
        uuid = _task(log)
        if uuid is None or child.returncode not in (0, _CRITERION):
            raise processes.EngineError(
                f'rally ended with {child.returncode}: {_text(log)[-_SHOWN:]}'
            )
        show(_ended(log))
        report = self._folder / f'{uuid}.json'
        self._call(
            *('task', 'report', uuid, '--json', '--out', str(report)),
            config=config,
        )
        return json.loads(report.read_text())

    def _abort(
        self,
        config: pathlib.Path,
        log: pathlib.Path,
        child: 'subprocess.Popen[bytes]',
    ) -> None:
        """Have rally end a task, which removes what the task has created."""
        uuid = _task(log)
        if uuid is None:
            # It has created nothing yet.
            return
        # The task may have ended in the meantime.
        with contextlib.suppress(processes.EngineError):
            self._call('task', 'abort', uuid, config=config)
        child.wait()

    def _config(self, poll: float) -> pathlib.Path:
        path = self._folder / 'rally.conf'
        path.write_text(_configuration(self._folder, self._prefix, poll))
        return path

    def _call(
        self,
        *words: str,
        config: pathlib.Path | None = None,
        secret: str | None = None,
    ) -> str:
        """Run the program and return its output.

        :param config: the configuration file of rally
        :param secret: hidden in messages
        :raises EngineError: if it fails
        """
        options = ['--config-file', str(config)] if config else []
        done = subprocess.run(
            [self._program, *options, *words],
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            # An interrupt from the keyboard does not reach it.
            start_new_session=True,
        )
        if done.returncode:
            text = done.stdout.strip()
            if secret:
                text = text.replace(secret, '***')
            raise processes.EngineError(
                f'rally {" ".join(words[:2])} ended with {done.returncode}: '
                f'{text[-_SHOWN:]}'
            )
        return done.stdout


def _text(log: pathlib.Path) -> str:
    return log.read_text(errors='replace').strip()


def _task(log: pathlib.Path) -> str | None:
    """Return the ID of the task that was started."""
    started = _STARTED.search(_text(log))
    return started.group(1) if started else None


def _ended(log: pathlib.Path) -> int:
    """Return the number of workloads that have ended."""
    iterations = _DONE.findall(_text(log))
    return int(iterations[-1][0]) if iterations else 0
