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

"""``cinder-rbd-ext clean``: removes leftovers that the audit finds."""

import argparse
import datetime
from typing import Any

from rbd_command_line import progress
from rbd_operator.audit import findings
from rbd_operator.audit import records
from rbd_operator.audit import run
from rbd_operator.commands import ceph_cluster
from rbd_operator.commands import maintenance
from rbd_operator.maintenance import cleaning
from rbd_operator.maintenance import removal


class Clean(maintenance.Command):
    """Remove leftovers that the audit finds, by kind.

    Without --execute, the command shows what it would do. Images are moved to
    the trash and stay there for the time of --delay. Images that are in use or
    have clones are refused. The exit status is 0 if nothing is left to do, 1
    if a removal was refused, 2 if a removal failed, and 3 if the command
    failed or was interrupted.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--pool',
            metavar='<pool>',
            action='append',
            required=True,
            help='Ceph pool to clean; repeat the option for several pools',
        )
        parser.add_argument(
            '--kind',
            metavar='<kind>',
            action='append',
            required=True,
            choices=sorted(findings.KINDS),
            help='Kind of findings to remove; repeat the option for several '
            'kinds',
        )
        parser.add_argument(
            '--execute',
            action='store_true',
            help='Remove the findings; requires --journal',
        )
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='Show what would be done; the default without --execute',
        )
        parser.add_argument(
            '--delay',
            metavar='<hours>',
            type=maintenance.number_from(0),
            default=168.0,
            help='Time for which images stay in the trash, in hours (default: '
            '%(default)s)',
        )
        parser.add_argument(
            '--older-than',
            metavar='<hours>',
            type=maintenance.number_from(0),
            default=24.0,
            help='Minimum age of images and snapshots, in hours (default: '
            '%(default)s)',
        )
        maintenance.add_change_options(parser)
        parser.set_defaults(bytes_per_second=None)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Audit the pools, remove what was found and return the rows."""
        execute = parsed_args.execute and not parsed_args.dry_run
        if execute and parsed_args.journal is None:
            raise ValueError('--journal is required with --execute.')
        shell: Any = self.app
        cluster = ceph_cluster.connected(parsed_args)
        known: list[records.Records] = []

        def read_records() -> records.Records:
            known.append(records.of_cloud(shell.cloud()))
            return known[0]

        with progress.shown(self.app.stderr) as show:
            found = run.run(cluster, parsed_args.pool, read_records, show)
        planned = list(
            cleaning.planned(
                found,
                known[0],
                frozenset(findings.KINDS[each] for each in parsed_args.kind),
                cluster.librados,
                cluster.librbd,
                removal.Rules(
                    datetime.timedelta(hours=parsed_args.delay),
                    datetime.timedelta(hours=parsed_args.older_than),
                ),
                lambda owner, ident: records.has_record(
                    shell.cloud(), owner, ident
                ),
            )
        )
        if not execute:
            return self.rows(maintenance.dry(planned))
        return self.changed(parsed_args, 'clean', cluster, planned)
