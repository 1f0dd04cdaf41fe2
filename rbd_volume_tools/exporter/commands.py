# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext exporter``: the audit as metrics for Prometheus."""

import argparse
import importlib
import os
import pathlib
import signal
from typing import Any

from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.audit import run
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import whole_file
from rbd_volume_tools.exporter import metrics
from rbd_volume_tools.exporter import refresher

# Imported here, because it needs the library of Prometheus.
_EXPOSITION = 'rbd_volume_tools.exporter.exposition'

# Signals that end the server.
_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM})


class Exporter(exit_status.StatusCommand):
    """Export the state of RBD images to Prometheus.

    Without --textfile, a server gives the result of the last audit to each
    scrape, and repeats the audit in the background. With --textfile, the
    command runs one audit and writes a file for the textfile collector of
    node_exporter. If an audit fails, rbd_audit_up is 0.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        run.add_options(parser)
        parser.add_argument(
            '--textfile',
            metavar='<file>',
            type=pathlib.Path,
            help='Run one audit, write this file and exit. The file is '
            'replaced in one step. Its name must end with .prom.',
        )
        parser.add_argument(
            '--address',
            metavar='<address>',
            default='127.0.0.1',
            help='Address of the server (default: %(default)s)',
        )
        parser.add_argument(
            '--port',
            metavar='<port>',
            type=maintenance.number_from(0, most=65535, kind=int),
            default=9973,
            help='Port of the server; 0 selects a free port (default: '
            '%(default)s)',
        )
        parser.add_argument(
            '--interval',
            metavar='<seconds>',
            type=maintenance.count,
            default=900,
            help='Time between the beginnings of two audits of the server '
            '(default: %(default)s)',
        )
        parser.add_argument(
            '--ceph-timeout',
            metavar='<seconds>',
            type=maintenance.count,
            default=30,
            help='Time after which an operation of Ceph, and with it the '
            'audit, fails (default: %(default)s)',
        )
        parser.add_argument(
            '--usage',
            action='store_true',
            help='Also export the provisioned and the used bytes of each '
            'project, volume type and pool. The used bytes are read from '
            'fast-diff maps',
        )
        parser.add_argument(
            '--image-table',
            action='store_true',
            help='Also export the volume and the project of each image: one '
            'time series for each volume of the cloud',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        try:
            exposition = importlib.import_module(_EXPOSITION)
        except ImportError as error:
            raise RuntimeError(
                f'{error}. Install prometheus-client.'
            ) from error
        refreshed = refresher.Refresher(
            lambda: metrics.of_report(
                run.of_options(
                    self.app,
                    parsed_args,
                    timeout=parsed_args.ceph_timeout,
                    with_usage=parsed_args.usage,
                ),
                has_usage=parsed_args.usage,
                has_images=parsed_args.image_table,
            ),
            parsed_args.interval,
            self._report,
        )
        if parsed_args.textfile:
            self._write(exposition, refreshed, parsed_args.textfile)
        else:
            self._serve(exposition, refreshed, parsed_args)

    def _write(
        self,
        exposition: Any,
        refreshed: refresher.Refresher,
        path: pathlib.Path,
    ) -> None:
        if path.suffix != '.prom':
            raise ValueError(
                f'{path}: node_exporter reads files that end with .prom.'
            )
        whole_file.check(path)
        refreshed.refresh()
        whole_file.write(path, exposition.text(refreshed.state))
        self.status = 0 if refreshed.state.up else exit_status.COMMAND

    def _serve(
        self,
        exposition: Any,
        refreshed: refresher.Refresher,
        parsed_args: argparse.Namespace,
    ) -> None:
        # There is no signal handler, because Python runs one between two calls
        # of librados only. Instead, the signals are blocked in all threads,
        # which inherit the mask, and sigwait receives them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            server, _ = exposition.serve(
                parsed_args.address, parsed_args.port, lambda: refreshed.state
            )
        except OSError as error:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            where = f'{parsed_args.address} port {parsed_args.port}'
            raise RuntimeError(f'Cannot listen on {where}: {error}') from error
        self._print(
            f'Serving metrics on {parsed_args.address} port '
            f'{server.server_port}'
        )
        refreshed.start()
        signal.sigwait(_SIGNALS)
        # A normal exit would wait for the threads of the audit and close its
        # connections. After operations that timed out, librbd and librados may
        # never return from these calls.
        os._exit(0)

    def _report(self, error: Exception) -> None:
        self._print(f'The audit failed: {error}')

    def _print(self, text: str) -> None:
        self.app.stderr.write(f'{printable.text(text)}\n')
        self.app.stderr.flush()
