# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext audit``: images, leftovers and contradictions."""

import argparse
from collections.abc import Iterator
import pathlib
from typing import Any

from rbd_volume_options import sizes
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import report
from rbd_volume_tools.audit import run
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import progress
from rbd_volume_tools.command_line import whole_file

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
    # Only with --used.
    'Used',
)


class Audit(exit_status.StatusLister):
    """List leftovers, contradictions and invalid object maps of RBD images.

    Each image is opened once for reading; nothing is changed. The exit status
    is 0 without findings or with notices only, 1 with warnings or errors, and
    2 if it is incomplete because a pool or an image could not be read.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        run.add_options(parser)
        parser.add_argument(
            '--counts',
            action='store_true',
            help='List the number of images by pool, volume type and state of '
            'the object map instead of the findings',
        )
        parser.add_argument(
            '--used',
            action='store_true',
            help='Read the used space, as rbd du does, for --counts and '
            '--output: only of images with a valid fast-diff map, which makes '
            'this fast',
        )
        parser.add_argument(
            '--objects',
            action='store_true',
            help='List all objects of the cluster, to find data and headers '
            'of images that have no name. This takes minutes for millions of '
            'objects',
        )
        parser.add_argument(
            '--objects-per-second',
            metavar='<number>',
            type=maintenance.count,
            help='Maximum number of objects that --objects lists in a second '
            '(default: no limit)',
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
            '--output',
            metavar='<file>',
            type=pathlib.Path,
            help='Write the whole report with all images to a file, as JSON',
        )
        return parser

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        if not parsed_args.counts:
            return _COLUMNS
        return _COUNT_COLUMNS if parsed_args.used else _COUNT_COLUMNS[:-1]

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        if parsed_args.output:
            whole_file.check(parsed_args.output)
        with progress.shown(self.app.stderr) as show:
            audited = run.of_options(
                self.app, parsed_args, show, with_usage=parsed_args.used
            )
        if parsed_args.output:
            whole_file.write(parsed_args.output, audited.as_json())
        if audited.severity > findings.Severity.NOTICE:
            self.status = exit_status.ATTENTION
        if not audited.is_complete:
            self.status = exit_status.FAILED
        self.app.stderr.write(_summary(audited))
        if parsed_args.counts:
            readable = parsed_args.formatter == 'table'
            rows = list(_count_rows(audited, readable))
            if not parsed_args.used:
                rows = [row[:-1] for row in rows]
        else:
            kinds = frozenset(parsed_args.kind or findings.KINDS)
            rows = list(_rows(audited, kinds))
        return self.headers(parsed_args), rows


def _rows(
    audited: report.Report, kinds: frozenset[str]
) -> Iterator[tuple[Any, ...]]:
    for each in audited.found:
        if each.kind.code in kinds:
            yield (
                each.kind.severity.name.lower(),
                each.kind.code,
                each.pool,
                each.image,
                each.project,
                each.detail,
                each.kind.remedy,
            )


def _count_rows(
    audited: report.Report, readable: bool
) -> Iterator[tuple[Any, ...]]:
    for each in audited.counts:
        yield (
            each.pool,
            each.owner.value,
            each.volume_type,
            each.map_state.value,
            each.number,
            sizes.format_size(each.size) if readable else each.size,
            _used(each.used, readable),
        )


def _used(size: int | None, readable: bool) -> str | int | None:
    if not readable:
        return size
    return 'unknown' if size is None else sizes.format_size(size)


def _summary(audited: report.Report) -> str:
    unread = dict.fromkeys(
        '/'.join(filter(None, (each.pool, each.image)))
        for each in audited.found
        if each.kind is findings.FORBIDDEN
    )
    lines = [
        f'{audited.number} images in {len(audited.scans)} pools, '
        f'{len(audited.found)} findings, {audited.seconds:.1f} s'
    ]
    if unread:
        lines.append(f'Incomplete, not readable: {", ".join(unread)}')
    if audited.known is not None and not audited.known.backends:
        lines.append(
            f'The cluster {audited.known.cluster} is that of no back end of '
            'Cinder that reports: check --ceph-conf and --os-cloud. Volumes '
            'without an image were not looked for.'
        )
    return ''.join(f'{printable.text(line)}\n' for line in lines)
