#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""``cinder-rbd-ext audit``: images, leftovers and contradictions."""

import argparse
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
from typing import Any

from cliff import lister

from cinder_rbd_ext.audit import findings
from cinder_rbd_ext.audit import records
from cinder_rbd_ext.audit import report
from cinder_rbd_ext.audit import run
from cinder_rbd_ext.client import printable
from rbd_volume_options import sizes

_COLUMNS = (
    'Severity',
    'Kind',
    'Pool',
    'Image',
    'Project',
    'Detail',
    'What to do',
)
_COUNT_COLUMNS = (
    'Pool',
    'Owner',
    'Volume type',
    'Object map',
    'Images',
    'Provisioned',
)
#: Exit status if the audit itself failed, as monitoring expects it.
UNKNOWN = 3


class Audit(lister.Lister):
    """List leftovers, contradictions and invalid object maps of RBD images.

    Each image is opened once for reading; nothing is changed. The exit status
    is 0 without findings or with notices only, 1 with warnings, 2 with errors
    and 3 if the audit could not be done.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--ceph-conf',
            metavar='<file>',
            default=os.environ.get('CEPH_CONF', '/etc/ceph/ceph.conf'),
            help='Ceph configuration file (default: CEPH_CONF, or '
            '/etc/ceph/ceph.conf)',
        )
        parser.add_argument(
            '--ceph-user',
            metavar='<name>',
            default='cinder',
            help='Ceph user without "client." (default: %(default)s)',
        )
        parser.add_argument(
            '--pool',
            metavar='<pool>',
            action='append',
            help='Ceph pool to audit; repeat the option for several pools '
            '(default: all pools with the application rbd)',
        )
        parser.add_argument(
            '--no-cloud',
            action='store_true',
            help='Audit Ceph without the records of Cinder, Glance and Nova; '
            'orphans and volumes without an image are not found then',
        )
        parser.add_argument(
            '--counts',
            action='store_true',
            help='List the number of images by pool, volume type and state of '
            'the object map instead of the findings',
        )
        parser.add_argument(
            '--kind',
            metavar='<kind>',
            action='append',
            choices=sorted(findings.KINDS),
            help='List only findings of this kind; repeat the option for '
            'several kinds',
        )
        parser.add_argument(
            '--workers',
            metavar='<number>',
            type=_workers,
            default=8,
            help='Number of connections that read images (default: '
            '%(default)s)',
        )
        parser.add_argument(
            '--output',
            metavar='<file>',
            type=pathlib.Path,
            help='Write the whole report with all images to a file, as JSON',
        )
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command; the status shows the worst finding."""
        try:
            super().run(parsed_args)
        except KeyboardInterrupt:
            self.app.stderr.write('Cancelled.\n')
            return UNKNOWN
        except Exception as error:
            if self.app.options.debug:
                raise
            self.app.stderr.write(f'{printable.text(str(error))}\n')
            return UNKNOWN
        return int(self._severity)

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Audit the pools and return the rows."""
        shell: Any = self.app
        try:
            cluster = run.connected(
                parsed_args.ceph_conf, parsed_args.ceph_user
            )
        except ImportError as error:
            raise RuntimeError(
                f'{error}. Install python3-rados and python3-rbd, and use '
                'a Python environment that has the packages of the system.'
            ) from error

        def read_records() -> records.Records | None:
            if parsed_args.no_cloud:
                return None
            return records.of_cloud(shell.cloud())

        with _progress(self.app.stderr) as progress:
            found = run.run(
                cluster,
                parsed_args.pool or cluster.pools(),
                read_records,
                progress,
                parsed_args.workers,
            )
        if parsed_args.output:
            text = json.dumps(found.plain(), indent=1)
            parsed_args.output.write_text(text + '\n')
        self._severity = found.severity
        self.app.stderr.write(_summary(found))
        if parsed_args.counts:
            readable = parsed_args.formatter == 'table'
            return _COUNT_COLUMNS, list(_count_rows(found, readable))
        kinds = frozenset(parsed_args.kind or findings.KINDS)
        return _COLUMNS, list(_rows(found, kinds))


def _workers(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 64:
        raise argparse.ArgumentTypeError(f'{number} is not between 1 and 64')
    return number


def _rows(
    found: report.Report, kinds: frozenset[str]
) -> Iterator[tuple[Any, ...]]:
    for each in found.found:
        if each.kind.code in kinds:
            yield tuple(
                map(
                    printable.text,
                    (
                        each.kind.severity.name.lower(),
                        each.kind.code,
                        each.pool,
                        each.image,
                        each.project,
                        each.detail,
                        each.kind.remedy,
                    ),
                )
            )


def _count_rows(
    found: report.Report, readable: bool
) -> Iterator[tuple[Any, ...]]:
    for each in found.counts:
        yield (
            printable.text(each.pool),
            each.owner.value,
            printable.text(each.volume_type),
            each.map_state.value,
            each.number,
            sizes.format_size(each.size) if readable else each.size,
        )


def _summary(found: report.Report) -> str:
    return (
        f'{found.number} images in {len(found.scans)} pools, '
        f'{len(found.found)} findings, {found.seconds:.1f} s\n'
    )


@contextlib.contextmanager
def _progress(stream: Any) -> Iterator[run.Progress]:
    """Yield a function that shows progress, if somebody can see it."""
    if not stream.isatty():
        yield lambda pool, done, total: None
        return
    try:
        from rich import console
        from rich import progress
    except ImportError:
        yield _lines(stream)
        return
    columns = (
        progress.TextColumn('{task.description}'),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    where = console.Console(file=stream)
    with progress.Progress(*columns, console=where) as shown:
        tasks: dict[str, progress.TaskID] = {}

        def show(pool: str, done: int, total: int) -> None:
            if pool not in tasks:
                tasks[pool] = shown.add_task(pool, total=total)
            shown.update(tasks[pool], completed=done)

        yield show


def _lines(stream: Any) -> Callable[[str, int, int], None]:
    """Return a function that rewrites a line."""

    def show(pool: str, done: int, total: int) -> None:
        stream.write(f'\r{pool}: {done} of {total} ')
        if done == total:
            stream.write('\n')
        stream.flush()

    return show
