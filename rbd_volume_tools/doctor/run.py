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

Configuration = configuration.Configuration
Finding = findings.Finding


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


@dataclasses.dataclass
class Host:
    """A host, its services and how they are asked; None for a missing one.

    :ivar cinder: configuration of cinder-volume and cinder-api
    :ivar glance: configuration of glance-api
    :ivar nova: configuration of nova-compute
    :ivar root: the root of /proc and of the paths of the dashboard's files
    :ivar clients: connections to Ceph; None if its libraries are missing
    :ivar cloud: connects to the cloud; None if there are no credentials
    :ivar run: runs a program
    :ivar nodes: URLs of cinder-api services that are asked in addition
    :ivar data_pools: of volume types, by the names of back ends, if the cloud
        was asked
    :ivar encrypted: the encrypted volume types; None if unknown
    :ivar heartbeat_grace: seconds, ``osd_heartbeat_grace`` of Ceph
    """

    cinder: Configuration | None = None
    glance: Configuration | None = None
    nova: Configuration | None = None
    root: pathlib.Path = pathlib.Path('/')
    clients: pools.Clients | None = None
    cloud: Callable[[], Any] | None = None
    run: other_parts.Run = program
    nodes: Sequence[str] = ()
    data_pools: dict[str, set[str]] = dataclasses.field(default_factory=dict)
    encrypted: list[str] | None = None
    heartbeat_grace: float = ceph_options.HEARTBEAT_GRACE


def check(host: Host) -> Iterator[Finding]:
    """Yield the findings of all checks that apply to a host."""
    yield versions.check_librbd(host.run)
    if host.cloud is not None:
        yield from _check_cloud(host, host.cloud)
    # Read these options first, because the checks of Cinder need one of them.
    yield from _check_ceph(host)
    if host.cinder is not None:
        yield from _check_cinder(host, host.cinder)
    if host.glance is not None:
        yield from other_parts.check_glance(host.glance)
        yield from options.check_glance(host.glance)
    yield from other_parts.check_horizon(host.root)
    if host.nova is not None:
        yield from _check_nova(host, host.nova)


def _check_cloud(host: Host, cloud: Callable[[], Any]) -> Iterator[Finding]:
    try:
        cinder = cloud().block_storage
        types = api_parts.volume_types(cinder)
        host.data_pools = api_parts.data_pools(types)
        host.encrypted = [each.name for each in types if each.is_encrypted]
        yield from api_parts.check(cinder, types, host.nodes)
        if host.glance is not None:
            yield from other_parts.check_locations(host.glance, cloud().image)
        yield from compute_hosts.check(cloud().compute, cinder)
    except Exception as error:
        # The host can be checked even if the cloud fails.
        yield findings.warning(
            'APIs of the cloud',
            f'{type(error).__name__}: {error}',
            'Check the credentials (OS_CLOUD or OS_* variables), or use '
            '--no-cloud. Data pools of volume types were not checked.',
        )


def _check_ceph(host: Host) -> Iterator[Finding]:
    clients = host.clients
    if clients is None:
        yield findings.warning(
            'Ceph',
            "Ceph's libraries for Python are not installed",
            'Install python3-rados and python3-rbd, and use a Python '
            'environment that has the packages of the system.',
        )
        return
    seen: set[tuple[str, str]] = set()
    for access in _accesses(host):
        try:
            if (access.conf, access.user) not in seen:
                seen.add((access.conf, access.user))
                yield from clients.check_blocklisting(access)
                values = clients.options(access)
                host.heartbeat_grace = ceph_options.number(
                    values, 'osd_heartbeat_grace', host.heartbeat_grace
                )
                subject = f'{access.conf} as client.{access.user}'
                yield from ceph_options.check(subject, values)
            yield from clients.check_pools(access)
        except clients.errors as error:
            yield clients.connection_failure(access, error)


def _accesses(host: Host) -> Iterator[pools.Access]:
    if host.cinder is not None:
        yield from cinder_parts.accesses(host.cinder, host.data_pools)
    if host.glance is not None:
        yield from other_parts.glance_accesses(host.glance)
    if host.nova is not None:
        yield from other_parts.nova_accesses(host.nova)


def _check_cinder(host: Host, conf: Configuration) -> Iterator[Finding]:
    yield from cinder_parts.check(conf, host.heartbeat_grace)
    yield from cinder_parts.check_restores(
        conf, cinder_parts.installed(), host.encrypted
    )
    yield from options.check_cinder(conf)


def _check_nova(host: Host, conf: Configuration) -> Iterator[Finding]:
    yield from versions.check_host(host.run)
    yield from other_parts.check_nova(conf)
    yield from options.check_nova(conf)
    yield from other_parts.check_modes(conf, host.cinder)
    yield from other_parts.check_secrets(
        host.run, conf, host.cinder, host.clients
    )
    yield from other_parts.check_nova_plugin(host.run, conf.paths)
    yield from guests.check(guests.running(host.root / 'proc'))
