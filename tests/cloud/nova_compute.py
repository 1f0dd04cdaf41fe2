# SPDX-License-Identifier: Apache-2.0

"""Temporary configuration of the sandbox's compute hosts."""

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

# Names of programs. That of the second host ends with a number.
_NAME = 'nova-compute'
#: The text that nova-compute logs at each start.
_STARTED = 'nova_rbd_cache is '

#: The time of the last status report of each compute host.
Reports = Mapping[str, str]


@contextlib.contextmanager
def configured(
    text: str, reports: Callable[[], Reports], *hosts: str
) -> Iterator[None]:
    """Append options to configurations of nova-compute temporarily.

    Restarts nova-compute before and after.

    :param reports: returns the time of the last report of each host
    :param hosts: the hosts; by default all
    """
    place = state.State(state.default_root())
    names = [_NAME + host.removeprefix('sandbox') for host in hosts]
    confs = {
        conf: conf.read_text()
        for conf in place.etc.glob(f'nova/{_NAME}*.conf')
        if conf.stem in (names or [conf.stem])
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
    """Stop nova-compute on a host temporarily."""
    supervisor = supervise.Supervisor(state.State(state.default_root()), {})
    name = _NAME + host.removeprefix('sandbox')
    supervisor.stop(name)
    try:
        yield
    finally:
        before = reports()[host]
        supervisor.start(name)
        _wait('report', lambda: reports()[host] > before)


def kill(host: str) -> None:
    """Kill nova-compute on a host; supervisord starts it again."""
    place = state.State(state.default_root())
    name = _NAME + host.removeprefix('sandbox')
    process = supervise.Supervisor(place, {}).processes()[name]
    os.kill(process['pid'], signal.SIGKILL)


def wait_for_report(host: str, reports: Callable[[], Reports]) -> None:
    """Wait until a host has reported twice."""
    seen: set[str] = set()

    def twice() -> bool:
        seen.add(reports()[host])
        return len(seen) > 2

    _wait('report', twice)


def run(program: str, *words: str, host: str = '') -> str:
    """Run a program of Nova's environment and return its output.

    :param host: the host whose configuration is used; by default that of
        Nova's API
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
        # nova-manage accepts --config-file only before its commands.
        return [program, *option, *words]
    return [program, *words, *option]


def refresh(server: str, volume: str, connector: str) -> None:
    """Replace an attachment, as after a change of monitors.

    :param connector: the content of the file that nova-manage reads
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
    """Restart nova-compute; wait until each host is up and reports."""
    supervisor = supervise.Supervisor(place, {})
    starts = {}
    for name, process in supervisor.processes().items():
        if name.startswith(_NAME):
            starts[name] = _starts(place, name)
            # A graceful shutdown takes long. supervisord restarts it.
            os.kill(process['pid'], signal.SIGKILL)
    _wait(
        'start',
        lambda: all(_starts(place, name) > n for name, n in starts.items()),
    )
    # Later reports come from the new process, which reports once it listens
    # to requests. A request without a listener may time out.
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
