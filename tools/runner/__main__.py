# SPDX-License-Identifier: Apache-2.0

"""The command line of tools/test.

    tools/test [PART...] [--release RELEASE] [-- REGEX...]

Without a part, all parts run except those that must be named: in parallel,
those that use the sandbox, the checks of the sources and the parts for other
releases of OpenStack, those on another release of Debian with two others, and
the rest. Named parts run one
after the other. Arguments after `--` are regular expressions that select
tests. The part `all` runs everything, for a release. KEEP=1 keeps the sandbox
up. The parts:
"""

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent import futures
import contextlib
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from runner import results
from sandbox_cloud import state

_NOX = (sys.executable, '-m', 'nox', '-f', str(state.CHECKOUT / 'noxfile.py'))
_SANDBOX = str(state.CHECKOUT / 'tools' / 'sandbox')
# The sandbox's lane takes longest. Its services would otherwise share the
# processors equally with the others, whose tests do not wait for servers.
_FIRST = 'sandbox'
_NICE = 5


def lanes(
    parts: Sequence[str], filtered: bool, newest: bool = True
) -> dict[str, list[str]]:
    """Return what runs in parallel: names, and options of nox."""
    if parts and 'all' not in parts:
        return {'parts': ['--session', *parts]}
    kind = '-all' if parts else '-regex' if filtered else ''
    names = ['sandbox', 'others']
    if newest and kind != '-regex':
        names += ['releases', 'debian']
    return {name: ['--tags', f'{name}{kind}'] for name in names}


def _yield_to_others(leader: int) -> None:
    """Lower the priority of a session.

    Where the kernel groups processes by session, their own priorities have no
    effect between sessions.
    """
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PGRP, leader, ours + _NICE)
    with contextlib.suppress(OSError):
        pathlib.Path(f'/proc/{leader}/autogroup').write_text(str(_NICE))


def run(commands: dict[str, list[str]]) -> None:
    """Run commands in parallel; Ctrl-C ends them and their children."""
    running = {
        name: subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        for name, command in commands.items()
    }
    for name, child in running.items():
        if _FIRST in running and name != _FIRST:
            _yield_to_others(child.pid)

    def show(name: str) -> None:
        prefix = f'{name:<9} | ' if len(running) > 1 else ''
        for line in running[name].stdout or ():
            # One call, so that the other lane does not split the line.
            text = line.decode(errors='replace').rstrip()
            print(f'{prefix}{text}\n', end='', flush=True)
        running[name].wait()

    with futures.ThreadPoolExecutor() as pool:
        try:
            list(pool.map(show, running))
        except KeyboardInterrupt:
            for each in running.values():
                if each.poll() is None:
                    os.killpg(each.pid, signal.SIGINT)


def count(reports: Iterable[pathlib.Path]) -> results.Results:
    """Count the results that sessions stored next to nox's reports.

    A session that failed without a failed test counts as one failure, and so
    does a session without a report.
    """
    whole = results.Results()
    for report in reports:
        text = report.read_text() if report.exists() else ''
        for session in json.loads(text)['sessions'] if text else [{}]:
            name = session.get('signatures', ['nox'])[0]
            counts = results.total(report.parent / name)
            good = session.get('result') in ('success', 'skipped')
            if not counts.failed and not good:
                counts.failed, counts.failures = 1, {'session': 'see above'}
            print(f'{name}: {counts}, {session.get("duration", 0):.0f} s')
            whole.passed += counts.passed
            whole.failed += counts.failed
            whole.skipped += counts.skipped
            for test, error in counts.failures.items():
                whole.failures[f'{name}: {test}'] = error
    return whole


def main(arguments: Sequence[str], folder: pathlib.Path) -> int:
    """Run the named parts; the last line of output has the totals."""
    releases = state.releases()
    parser = argparse.ArgumentParser(prog='tools/test', add_help=False)
    parser.add_argument('part', nargs='*')
    parser.add_argument('--release', choices=releases, default=releases[-1])
    parser.add_argument('-h', '--help', action='store_true')
    words = list(itertools.takewhile(lambda word: word != '--', arguments))
    args, filters = parser.parse_args(words), arguments[len(words) + 1 :]
    if args.help:
        print(__doc__, flush=True)
        return subprocess.run([*_NOX, '--list']).returncode
    folder.mkdir(parents=True, exist_ok=True)
    os.environ['RBD_TEST_RELEASE'] = args.release
    os.environ['RBD_TEST_RESULTS'] = str(folder)
    if 'all' in args.part:
        os.environ['RBD_TEST_ALL'] = '1'
    commands, reports = {}, []
    newest = args.release == releases[-1]
    for name, options in lanes(args.part, bool(filters), newest).items():
        reports.append(folder / f'{name}.json')
        report = ['--report', str(reports[-1])]
        commands[name] = [*_NOX, *report, *options, '--', *filters]
    try:
        run(commands)
    finally:
        if (folder / 'sandbox').exists() and os.environ.get('KEEP') != '1':
            subprocess.run([_SANDBOX, 'down', '--keep-venv'])
    counts = count(reports)
    for test, error in counts.failures.items():
        print(f'failed: {test}: {error}')
    print(counts, flush=True)
    return 0 if counts.passed and not counts.failed else 1


if __name__ == '__main__':
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as scratch:
        kept = os.environ.get('RBD_TEST_RESULTS') or scratch
        sys.exit(main(sys.argv[1:], pathlib.Path(kept)))
