# SPDX-License-Identifier: Apache-2.0

"""Two volume services of one cluster, for the duration of a test."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import fixtures

from sandbox_cloud import state
from sandbox_cloud import supervise
from tests.cloud import base

#: The section and name of the back end, and the cluster of the volumes.
BACKEND = 'rbd-aa'
CLUSTER = f'sandbox-aa@{BACKEND}'
#: The pool's name in the scheduler and in ``cluster_name`` of volumes.
POOL = f'{CLUSTER}#{BACKEND}'
#: The drivers of a service.
OURS = 'cinder_rbd_ext.driver.RBDExtDriver'
STOCK = 'cinder.volume.drivers.rbd.RBDDriver'

_SECTION = """
[{backend}]
volume_driver = {driver}
volume_backend_name = {backend}
{ceph}
rbd_tenant_options = rbd:object_size,rbd:stripe_unit,rbd:stripe_count,\
rbd:object_map,rbd:features,rbd:cache_mode
"""


class Service:
    """A volume service."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str]
    ) -> None:
        self._command = command
        self._environ = environ

    def start(self) -> None:
        """Start it; return immediately."""
        self._process = subprocess.Popen(
            self._command,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def kill(self) -> None:
        """Kill it and its child processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def running(
    folder: pathlib.Path, second: str = OURS
) -> Iterator[list[Service]]:
    """Run two services with the configuration of the sandbox's service.

    :param folder: the folder for their configuration and logs
    :param second: the driver of the second service; the first one has ours
    """
    place = state.State(state.default_root())
    supervisor = supervise.Supervisor(place, {})
    own = pathlib.Path(f'/proc/{_service(supervisor)}')
    services: list[Service] = []
    with contextlib.ExitStack() as stack:
        for number, driver in enumerate((OURS, second), 1):
            conf = folder / f'{number}.conf'
            conf.write_text(_configuration(place, number, driver))
            # Without the program that holds the sandbox's programs.
            command = own.joinpath('cmdline').read_text().split('\0')[:-1]
            at = command.index('--config-file')
            program = command[at - 1]
            command = [
                str(place.bin / 'with-etc-ceph'),
                *(program, '--config-file', str(conf)),
                *('--log-file', str(folder / f'{number}.log')),
            ]
            services.append(Service(command, _environ(own)))
            services[-1].start()
            stack.callback(services[-1].kill)
        yield services


def _service(supervisor: supervise.Supervisor) -> int:
    pid: int = supervisor.processes()['cinder-volume']['pid']
    return pid


def _environ(own: pathlib.Path) -> dict[str, str]:
    pairs = own.joinpath('environ').read_bytes().split(b'\0')
    return dict(pair.decode().split('=', 1) for pair in pairs if b'=' in pair)


def _configuration(place: state.State, number: int, driver: str) -> str:
    text = (place.etc / 'cinder/cinder.conf').read_text()
    section = re.search(r'^\[rbd\]$(.*?)^\[', text, re.DOTALL | re.MULTILINE)
    if section is None:
        raise AssertionError('the sandbox has no back end rbd')
    ceph = '\n'.join(
        line
        for line in section[1].splitlines()
        if re.match('rbd_(pool|user|ceph_conf|secret_uuid) ', line)
    )
    for name, value in (
        ('host', f'sandbox-aa{number}\ncluster = sandbox-aa'),
        ('enabled_backends', BACKEND),
    ):
        text = re.sub(
            rf'^{name} = .*$', f'{name} = {value}', text, flags=re.MULTILINE
        )
    return text + _SECTION.format(backend=BACKEND, driver=driver, ceph=ceph)


class TwoServicesTestCase(base.CloudTestCase):
    """A test with two services, which are up and in the scheduler.

    :ivar services: the two services
    """

    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.addCleanup(self._able, 'disable')
        running_services = running(pathlib.Path(folder))
        self.services = running_services.__enter__()
        self.addCleanup(running_services.__exit__, None, None, None)
        self.until(self._two_are_up)
        self._able('enable')
        self.until(self._reported)

    def _able(self, how: str) -> None:
        """Enable or disable the cluster for the scheduler."""
        body = {'name': CLUSTER}
        self.request('PUT', f'/clusters/{how}', body, self.operator)

    def _two_are_up(self) -> bool:
        path = f'/clusters/{CLUSTER}'
        response = self.respond('GET', path, cloud=self.operator)
        if response.status_code == 404:
            return False
        cluster = response.json()['cluster']
        return bool(cluster['num_hosts'] - cluster['num_down_hosts'] == 2)

    def _reported(self) -> bool:
        path = '/scheduler-stats/get_pools'
        pools = self.request('GET', path, cloud=self.operator)['pools']
        return any(pool['name'] == POOL for pool in pools)
