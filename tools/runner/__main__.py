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

"""The command line of tools/test.

    tools/test [PART...] [--release RELEASE] [-- REGEX...]

Without a part, all run that aren't for their name only, those on the sandbox
beside the others; else the named ones, one after the other. What follows `--`
selects tests by regular expression. The part `all` is everything there is, to
be run before a release. KEEP=1 leaves the sandbox up. The parts:
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent import futures
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


def lanes(parts: Sequence[str], filtered: bool) -> dict[str, list[str]]:
    """Return what runs side by side: prefixes of lines, options of nox."""
    if parts and 'all' not in parts:
        return {'': ['--session', *parts]}
    kind = '-all' if parts else '-regex' if filtered else ''
    return {
        'sandbox | ': ['--tags', f'sandbox{kind}'],
        'others  | ': ['--tags', f'others{kind}'],
    }


def run(commands: dict[str, Sequence[str]]) -> None:
    """Run commands side by side, each with a prefix for what it shows.

    Ctrl-C ends them all: each is a session of its own, whose processes are
    interrupted together.
    """
    how = {'stdin': subprocess.DEVNULL, 'stderr': subprocess.STDOUT}
    running = {
        prefix: subprocess.Popen(
            command, stdout=subprocess.PIPE, start_new_session=True, **how
        )
        for prefix, command in commands.items()
    }

    def show(prefix: str) -> None:
        for line in running[prefix].stdout or ():
            text = line.decode(errors='replace').rstrip()
            # In one piece, lest the other lane's words come in between.
            print(f'{prefix}{text}\n', end='', flush=True)
        running[prefix].wait()

    with futures.ThreadPoolExecutor() as pool:
        try:
            list(pool.map(show, running))
        except KeyboardInterrupt:
            for each in running.values():
                if each.poll() is None:
                    os.killpg(each.pid, signal.SIGINT)


def count(reports: Iterable[pathlib.Path]) -> results.Results:
    """Count what sessions left beside nox's reports on them.

    One that failed otherwise counts as one failed test, and so does a nox
    that left no report.
    """
    whole = results.Results()
    for report in reports:
        text = report.read_text() if report.exists() else ''
        for session in json.loads(text)['sessions'] if text else [{}]:
            name = session.get('signatures', ['nox'])[0]
            found = results.total(report.parent / name)
            good = session.get('result') in ('success', 'skipped')
            if not found.failed and not good:
                found.failed, found.failures = 1, ['see above']
            print(f'{name}: {found}, {session.get("duration", 0):.0f} s')
            whole.passed += found.passed
            whole.failed += found.failed
            whole.skipped += found.skipped
            whole.failures += [f'{name}: {each}' for each in found.failures]
    return whole


def main(arguments: Sequence[str], folder: pathlib.Path) -> int:
    """Run the named parts; the last line says how many tests did what."""
    releases = state.releases()
    parser = argparse.ArgumentParser(prog='tools/test', add_help=False)
    parser.add_argument('part', nargs='*')
    parser.add_argument('--release', choices=releases, default=releases[-1])
    parser.add_argument('-h', '--help', action='store_true')
    words = list(itertools.takewhile(lambda word: word != '--', arguments))
    asked, filters = parser.parse_args(words), arguments[len(words) + 1 :]
    if asked.help:
        print(__doc__, flush=True)
        return subprocess.run([*_NOX, '--list']).returncode
    folder.mkdir(parents=True, exist_ok=True)
    os.environ['RBD_TEST_RELEASE'] = asked.release
    os.environ['RBD_TEST_RESULTS'] = str(folder)
    os.environ['RBD_TEST_ALL'] = str(int('all' in asked.part))
    chosen = lanes(asked.part, bool(filters))
    reports = [folder / f'{number}.json' for number in range(len(chosen))]
    commands = {
        prefix: [*_NOX, '--report', str(report), *options, '--', *filters]
        for report, (prefix, options) in zip(
            reports, chosen.items(), strict=True
        )
    }
    try:
        run(commands)
    finally:
        # A session that brought the sandbox up leaves this file.
        if (folder / 'sandbox').exists() and os.environ.get('KEEP') != '1':
            subprocess.run([_SANDBOX, 'down', '--keep-venv'])
    found = count(reports)
    print(*(f'failed: {each}' for each in found.failures), sep='\n')
    print(found, flush=True)
    return 0 if found.passed and not found.failed else 1


if __name__ == '__main__':
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as scratch:
        kept = os.environ.get('RBD_TEST_RESULTS') or scratch
        sys.exit(main(sys.argv[1:], pathlib.Path(kept)))
