# SPDX-License-Identifier: Apache-2.0

"""All checks that apply to a host."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import pathlib
import subprocess
from typing import Any

from rbd_volume_tools.command_line import ceph_options
from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.command_line import versions
from rbd_volume_tools.doctor import api_parts
from rbd_volume_tools.doctor import cinder_parts
from rbd_volume_tools.doctor import compute_hosts
from rbd_volume_tools.doctor import guests
from rbd_volume_tools.doctor import options
from rbd_volume_tools.doctor import other_parts
from rbd_volume_tools.doctor import pools

# Maximum duration of a program in seconds.
_TIMEOUT = 60

Finding = findings.Finding
Severity = findings.Severity


@dataclasses.dataclass(frozen=True)
class Host:
    """The services on a host; None for a missing one.

    :ivar cinder: configuration of cinder-volume and cinder-api
    :ivar glance: configuration of glance-api
    :ivar nova: configuration of nova-compute
    :ivar root: the root of /proc and of the paths of the dashboard's files
    """

    cinder: configuration.Configuration | None = None
    glance: configuration.Configuration | None = None
    nova: configuration.Configuration | None = None
    root: pathlib.Path = pathlib.Path('/')


def program(command: list[str]) -> tuple[int, str, str]:
    """Run a program; return its status, output and errors.

    :raises OSError: if it is missing
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return 1, '', f'did not end within {_TIMEOUT} s'
    return done.returncode, done.stdout, done.stderr


class Doctor:
    """Runs the checks of a host.

    :param host: the services on the host
    :param clients: connections to Ceph; None if its libraries are missing
    :param cloud: connects to the cloud; None if there are no credentials
    :param run: runs a program
    :param nodes: URLs of cinder-api services that are asked in addition
    """

    def __init__(
        self,
        host: Host,
        clients: pools.Clients | None,
        cloud: Callable[[], Any] | None,
        run: other_parts.Run = program,
        nodes: Sequence[str] = (),
    ) -> None:
        self._host = host
        self._clients = clients
        self._cloud = cloud
        self._run = run
        self._nodes = nodes
        self._grace = ceph_options.HEARTBEAT_GRACE
        self._data_pools: dict[str, set[str]] = {}
        self._encrypted: list[str] | None = None

    def check(self) -> Iterator[Finding]:
        """Yield the findings."""
        yield versions.check_librbd(self._run)
        if self._cloud is not None:
            yield from self._check_cloud(self._cloud)
        # Read these options first, because the checks of Cinder need one of
        # them.
        yield from self._check_ceph()
        host = self._host
        if host.cinder is not None:
            yield from cinder_parts.check(host.cinder, self._grace)
            yield from cinder_parts.check_restores(
                host.cinder, cinder_parts.installed(), self._encrypted
            )
            yield from options.check_cinder(host.cinder)
        if host.glance is not None:
            yield from other_parts.check_glance(host.glance)
            yield from options.check_glance(host.glance)
        yield from other_parts.check_horizon(host.root)
        if host.nova is not None:
            yield from versions.check_host(self._run)
            yield from other_parts.check_nova(host.nova)
            yield from options.check_nova(host.nova)
            yield from other_parts.check_modes(host.nova, host.cinder)
            yield from other_parts.check_secrets(
                self._run, host.nova, host.cinder, self._clients
            )
            yield from other_parts.check_nova_plugin(
                self._run, host.nova.paths
            )
            yield from guests.check(guests.running(host.root / 'proc'))

    def _check_cloud(self, cloud: Callable[[], Any]) -> Iterator[Finding]:
        try:
            cinder = cloud().block_storage
            self._data_pools = api_parts.data_pools(cinder)
            self._encrypted = api_parts.encrypted_types(cinder)
            yield from api_parts.check(cinder, self._nodes)
            if self._host.glance is not None:
                yield from other_parts.check_locations(
                    self._host.glance, cloud().image
                )
            yield from compute_hosts.check(cloud().compute, cinder)
        except Exception as error:
            # The host can be checked even if the cloud fails.
            yield Finding(
                'APIs of the cloud',
                f'{type(error).__name__}: {error}',
                Severity.WARNING,
                'Check the credentials (OS_CLOUD or OS_* variables), or use '
                '--no-cloud. Data pools of volume types were not checked.',
            )

    def _accesses(self) -> Iterator[cinder_parts.Access]:
        host = self._host
        if host.cinder is not None:
            yield from cinder_parts.accesses(host.cinder, self._data_pools)
        if host.glance is not None:
            yield from other_parts.glance_accesses(host.glance)
        if host.nova is not None:
            yield from other_parts.nova_accesses(host.nova)

    def _check_ceph(self) -> Iterator[Finding]:
        if self._clients is None:
            yield Finding(
                'Ceph',
                "Ceph's libraries for Python are not installed",
                Severity.WARNING,
                'Install python3-rados and python3-rbd, and use a Python '
                'environment that has the packages of the system.',
            )
            return
        seen: set[tuple[str, str]] = set()
        for access in self._accesses():
            try:
                if (access.conf, access.user) not in seen:
                    seen.add((access.conf, access.user))
                    yield from self._check_options(self._clients, access)
                yield from self._clients.check_pools(access)
            except self._clients.errors as error:
                yield self._clients.connection_failure(access, error)

    def _check_options(
        self, clients: pools.Clients, access: cinder_parts.Access
    ) -> Iterator[Finding]:
        yield from clients.check_blocklisting(access)
        values = clients.options(access)
        self._grace = ceph_options.number(
            values, 'osd_heartbeat_grace', self._grace
        )
        subject = f'{access.conf} as client.{access.user}'
        yield from ceph_options.check(subject, values)
