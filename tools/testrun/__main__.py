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

"""The command line of tools/test."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import contextlib
import dataclasses
import itertools
import pathlib
import sys
import time

from testrun import environment
from testrun import lanes
from testrun import outcome
from testrun import parts
from testrun import sandbox

_EPILOG = """\
Without a part, all run that aren't for their name only, those on the sandbox
beside the others; else the named ones, one after the other, in this order. A
failing part doesn't stop the next. What follows `--` selects tests by regular
expression:

  tools/test unit -- test_layout

The release of OpenStack is the newest unless --release names another one;
without a part that runs what isn't for the newest alone.

Parts on the sandbox of one release share it: it is started before the first of
them and stopped after the last; one that is up already stays up, and so does
any with KEEP=1.
"""


def _parser() -> argparse.ArgumentParser:
    summaries = '\n'.join(
        f'  {part.name:<12}{part.summary}'
        f'{"" if part.by_default else " (by name only)"}'
        for part in parts.PARTS
    )
    parser = argparse.ArgumentParser(
        prog='tools/test',
        description='Install what tests need and run them.',
        epilog=f'{_EPILOG}\nparts:\n{summaries}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'part',
        nargs='*',
        help=', '.join(part.name for part in parts.PARTS),
    )
    parser.add_argument(
        '--release',
        choices=environment.RELEASES,
        default=environment.RELEASE,
        help='the release of OpenStack to test on',
    )
    parser.add_argument(
        '--venv',
        type=pathlib.Path,
        metavar='PATH',
        help='run in a virtual environment that was made for the tests '
        'already, as by tox; install nothing there, nor of Debian',
    )
    return parser


def _selected(
    names: Sequence[str], filters: Sequence[str], release: str
) -> list[parts.Part]:
    newest = release == environment.RELEASE
    chosen = [
        part
        for part in parts.PARTS
        if part.name in names
        or (
            not names
            and part.by_default
            and (part.selects or not filters)
            and (newest or part.any_release)
        )
    ]
    unknown = set(names) - {part.name for part in parts.PARTS}
    if unknown:
        known = ', '.join(part.name for part in parts.PARTS)
        raise SystemExit(
            f'tools/test: no part {", ".join(sorted(unknown))}; '
            f'there are: {known}'
        )
    tied = [part.name for part in chosen if not part.any_release]
    if tied and not newest:
        raise SystemExit(
            f'tools/test: {", ".join(tied)}: on {environment.RELEASE} only'
        )
    return chosen


def _venv(release: str, made: pathlib.Path | None) -> environment.Venv:
    if made is None:
        return environment.Venv(release)
    return environment.MadeVenv(release, made.absolute())


def _prepare(part: parts.Part, venv: environment.Venv) -> None:
    with environment.alone():
        if venv.ours:
            environment.install_packages(part.packages)
        if not part.venv:
            return
        venv.prepare()
        if part.ceph:
            venv.link_bindings()


def run_part(
    part: parts.Part, venv: environment.Venv, filters: Sequence[str]
) -> outcome.Outcome:
    """Run one part; nothing run where something should have is a failure."""
    print(f'=== {part.name}: {part.summary}', flush=True)
    began = time.monotonic()
    try:
        _prepare(part, venv)
        prepared = time.monotonic()
        found = part.run(venv, filters)
    except environment.CannotPrepare as error:
        print(f'  FAILED: {error}')
        prepared = time.monotonic()
        found = outcome.FAILED
    if not found.ran and not filters:
        print('  FAILED: no test ran')
        found += outcome.FAILED
    if part.release:
        failures = [f'{part.release}: {each}' for each in found.failures]
        found = dataclasses.replace(found, failures=failures)
    ended = time.monotonic()
    print(
        f'=== {part.name}: {found}, {ended - prepared:.1f} s '
        f'(and {prepared - began:.1f} s to prepare)',
        flush=True,
    )
    return found


def _run_all(
    chosen: Sequence[parts.Part],
    asked: argparse.Namespace,
    filters: Sequence[str],
) -> outcome.Outcome:
    """Run parts in their order; those on a release's sandbox share one."""
    total = outcome.Outcome()
    for (on_sandbox, _), group in itertools.groupby(
        chosen, key=lambda part: (part.sandbox, part.release)
    ):
        with sandbox.ended_after() if on_sandbox else contextlib.nullcontext():
            for part in group:
                venv = _venv(part.release or asked.release, asked.venv)
                total += run_part(part, venv, filters)
    return total


def _lanes(chosen: Sequence[parts.Part]) -> dict[str, list[str]]:
    """Return what can run side by side: parts on the sandbox and others."""
    found: dict[str, list[str]] = {}
    for part in chosen:
        lane = 'sandbox' if part.sandbox else 'others'
        found.setdefault(lane, []).append(part.name)
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the named parts; the last line says how many tests did what."""
    words = list(arguments)
    filters: list[str] = []
    if '--' in words:
        split = words.index('--')
        words, filters = words[:split], words[split + 1 :]
    asked = _parser().parse_args(words)
    chosen = _selected(asked.part, filters, asked.release)
    side_by_side = {} if asked.part else _lanes(chosen)
    if len(side_by_side) > 1:
        same = ['--release', asked.release]
        if asked.venv:
            same += ['--venv', str(asked.venv)]
        total = lanes.run(side_by_side, [*same, '--', *filters])
    else:
        total = _run_all(chosen, asked, filters)
    if not total.ran:
        print('no test ran')
    # Again at the end: of a long run often nothing but the end is kept.
    for failure in total.failures:
        print(f'failed: {failure}')
    print(total, flush=True)
    return 1 if total.failed or not total.ran else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
