# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext doctor``: checks of a controller or compute host."""

import argparse
import os
import pathlib
from typing import Any

from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import pools
from rbd_volume_tools.doctor import run

_FILES = {
    'cinder': '/etc/cinder/cinder.conf',
    'glance': '/etc/glance/glance-api.conf',
    'nova': '/etc/nova/nova.conf',
}


class Doctor(exit_status.StatusLister):
    """Check the parts of the suite and the settings of Ceph on this host.

    The configuration files that exist select the checks. The only change is a
    small object in each pool of a back end, which is written, read and
    removed. The exit status is 0 without findings or with notices only, 1 with
    warnings, 2 with errors and 3 if nothing could be checked.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        for service, path in _FILES.items():
            parser.add_argument(
                f'--{service}-config',
                metavar='<file>',
                type=pathlib.Path,
                action='append',
                help=f'Configuration file of {service.title()}; repeat the '
                f'option for several files (default: {path}, if it exists)',
            )
        parser.add_argument(
            '--no-cloud',
            action='store_true',
            help='Do not ask the APIs of the cloud for running parts and for '
            'the data pools of volume types; they are asked only if OS_CLOUD, '
            '--os-cloud or OS_AUTH_URL is set',
        )
        parser.add_argument(
            '--api-endpoint',
            metavar='<url>',
            action='append',
            default=[],
            help='URL of a cinder-api service, with the version, such as '
            'http://192.0.2.11:8776/v3. Repeat the option for each service '
            'behind a load balancer. The endpoints of the catalog are always '
            'included.',
        )
        parser.add_argument(
            '--problems',
            action='store_true',
            help='List only findings with something to do',
        )
        return parser

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return ('Result', 'Subject', 'Seen', 'What to do')

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        read = {
            service: _configuration(
                getattr(parsed_args, f'{service}_config'), pathlib.Path(path)
            )
            for service, path in _FILES.items()
        }
        if not any(read.values()):
            raise ValueError(
                'Nothing to check: none of '
                f'{", ".join(_FILES.values())} exists. Name the files.'
            )
        shell: Any = self.app
        asks = not parsed_args.no_cloud and (
            shell.options.os_cloud
            or 'OS_CLOUD' in os.environ
            or 'OS_AUTH_URL' in os.environ
        )
        if parsed_args.api_endpoint and not asks:
            raise ValueError(
                '--api-endpoint needs the credentials of an administrator: '
                'set --os-cloud, OS_CLOUD or OS_AUTH_URL, without --no-cloud.'
            )
        host = run.Host(
            *(read['cinder'], read['glance'], read['nova']),
            clients=pools.clients(),
            cloud=shell.cloud if asks else None,
            nodes=parsed_args.api_endpoint,
        )
        checked = list(run.check(host))
        self.status = int(findings.worst(checked))
        return self.headers(parsed_args), [
            (each.result, each.subject, each.seen, each.remedy)
            for each in checked
            if each.severity is not None or not parsed_args.problems
        ]


def _configuration(
    paths: list[pathlib.Path] | None, default: pathlib.Path
) -> configuration.Configuration | None:
    if paths:
        return configuration.Configuration(paths)
    if default.is_file():
        return configuration.Configuration([default])
    return None
