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

"""The sandbox's compute hosts, with another configuration for a while."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import pathlib
import signal
import subprocess
import time

from sandbox_cloud import state
from sandbox_cloud import supervise

# Of a program; a second host's has a number at the end.
_NAME = 'nova-compute'
#: Of the log, which says it at each start.
_STARTED = 'nova_rbd_cache is '

#: When each compute host has last said that it is up.
Reports = Mapping[str, str]


@contextlib.contextmanager
def configured(text: str, reports: Callable[[], Reports]) -> Iterator[None]:
    """Have lines at the end of each configuration; restart them twice.

    :param reports: asks Nova when the hosts have last reported
    """
    place = state.State(state.default_root())
    confs = {
        conf: conf.read_text()
        for conf in place.etc.glob(f'nova/{_NAME}*.conf')
    }
    try:
        for conf, before in confs.items():
            conf.write_text(f'{before}\n{text}')
        _restart(place, reports)
        yield
    finally:
        for conf, before in confs.items():
            conf.write_text(before)
        _restart(place, reports)


@contextlib.contextmanager
def ended(host: str, reports: Callable[[], Reports]) -> Iterator[None]:
    """Have a host without nova-compute for a while."""
    supervisor = supervise.Supervisor(state.State(state.default_root()), {})
    name = _NAME + host.removeprefix('sandbox')
    supervisor.stop(name)
    try:
        yield
    finally:
        before = reports()[host]
        supervisor.start(name)
        _wait('report', lambda: reports()[host] > before)


def run(program: str, *words: str, host: str = '') -> str:
    """Run a program of Nova's environment; return what it prints.

    :param host: whose configuration it has; that of Nova's API by default
    """
    place = state.State(state.default_root())
    release = (place.run / 'release').read_text().strip()
    programs = place.venv(release) / 'bin'
    name = f'{_NAME}{host.removeprefix("sandbox")}' if host else 'nova'
    conf = place.etc / 'nova' / f'{name}.conf'
    path = os.pathsep.join([str(place.bin), str(programs), os.environ['PATH']])
    done = subprocess.run(
        _command(str(programs / program), words, str(conf)),
        env={**os.environ, 'PATH': path},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise AssertionError(f'{program} {words}: {done}')
    return done.stdout


def _command(program: str, words: tuple[str, ...], conf: str) -> list[str]:
    option = ('--config-file', conf)
    if program.endswith('nova-manage'):
        # It takes no option of the configuration after its own words.
        return [program, *option, *words]
    return [program, *words, *option]


def refresh(server: str, volume: str, connector: str) -> None:
    """Replace an attachment, as after a change of monitors.

    :param connector: as nova-manage reads it from a file
    """
    place = state.State(state.default_root())
    file = pathlib.Path(place.run, f'connector-{volume}.json')
    file.write_text(connector)
    try:
        words = ('volume_attachment', 'refresh', server, volume, str(file))
        run('nova-manage', *words)
    finally:
        file.unlink()


def _restart(place: state.State, reports: Callable[[], Reports]) -> None:
    """Have them start anew; return when each does as it is configured."""
    supervisor = supervise.Supervisor(place, {})
    starts = {}
    for name, process in supervisor.processes().items():
        if name.startswith(_NAME):
            starts[name] = _starts(place, name)
            # It takes its time to end in good order, and supervisord starts
            # it again.
            os.kill(process['pid'], signal.SIGKILL)
    _wait(
        'start',
        lambda: all(_starts(place, name) > n for name, n in starts.items()),
    )
    # What is reported from here on comes of the new process. It begins when
    # it listens to requests: one that nobody listens to may time out.
    before = reports()
    _wait(
        'report',
        lambda: all(reports()[host] > when for host, when in before.items()),
    )


def _wait(what: str, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(f'nova-compute does not {what}')
        time.sleep(0.3)


def _starts(place: state.State, name: str) -> int:
    log = place.log / f'{name}.log'
    return log.read_text(errors='replace').count(_STARTED)
