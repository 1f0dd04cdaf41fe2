# SPDX-License-Identifier: Apache-2.0


"""What Nova's operations leave if no other host allows a volume's cache mode.

The table *What a refusal leaves* in doc/source/admin/handshake.rst has these
results.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import pathlib

import fixtures

from tests.cloud import nova_compute
from tests.cloud import servers
from tests.cloud import test_cache_modes
from tests.cloud import test_compute_options

_NONE_ALLOWED = '[rbd_cache]\nallowed_modes = none\n'


@dataclasses.dataclass(frozen=True)
class Left:
    """A server after an operation.

    :ivar host: the host of the server; None if the server is offloaded
    :ivar attached: whether Nova has its volume attached
    """

    status: str
    host: str | None
    flavor: str = 'tiny'
    attached: bool = True


_UNCHANGED = Left('ACTIVE', servers.FIRST)
_OFFLOADED = Left('SHELVED_OFFLOADED', None)
#: By operation, if Cinder refuses the attachment.
_BY_CINDER = {
    'live-migration': _UNCHANGED,
    'migrate': Left('ERROR', servers.SECOND),
    'resize': Left('ERROR', servers.SECOND, 'small'),
    'unshelve': _OFFLOADED,
}
#: By operation, if the scheduler's filter finds no host.
_BY_THE_FILTER = {
    'live-migration': _UNCHANGED,
    'migrate': _UNCHANGED,
    'resize': _UNCHANGED,
    'unshelve': _OFFLOADED,
}


class RefusedWaysTest(test_cache_modes.CacheModeTestCase):
    """Servers on the first host; only the second one may take them."""

    timeout = 1800

    def setUp(self) -> None:
        super().setUp()
        self.need_two_hosts()
        with self.disabled(servers.SECOND):
            self.machines = {name: self.machine(name) for name in _BY_CINDER}
        self.volumes = {}
        for machine in self.machines.values():
            self.volumes[machine] = self.volume('writeback')
            self.attach(machine, self.volumes[machine])
        self.offloaded = self.machines['unshelve']
        self.server_action(self.offloaded, shelve=None)
        self.wait_for_server(self.offloaded, 'SHELVED_OFFLOADED')

    def machine(self, name: str) -> str:
        """Create the server for an operation.

        To shelve a server without a root volume, Nova 2025.1 sets a location
        in Glance, which users may not.
        """
        if name != 'unshelve':
            return self.boot()
        return self.boot(self.created(imageRef=self.image()))

    @contextlib.contextmanager
    def disabled(self, host: str) -> Iterator[None]:
        """Disable the scheduling of servers to a host."""
        path = f'/os-services/{self.service(host)}'
        self.compute('PUT', path, {'status': 'disabled'}, self.operator)
        try:
            yield
        finally:
            self.compute('PUT', path, {'status': 'enabled'}, self.operator)

    def act(self, machine: str, name: str, body: object) -> Left:
        """Run an action that fails; return what it leaves."""
        failed = self.failures(machine, name)
        action = {'live-migration': 'os-migrateLive'}.get(name, name)
        self.server_action(machine, **{action: body})
        self.until(lambda: self.failures(machine, name) > failed, 240)
        self.until(
            lambda: not self.server(machine)['OS-EXT-STS:task_state'], 240
        )
        server = self.server(machine)
        path = f'/servers/{machine}/os-volume_attachments'
        attached = self.compute('GET', path)['volumeAttachments']
        offloaded = server['status'] == _OFFLOADED.status
        return Left(
            server['status'],
            None if offloaded else server['OS-EXT-SRV-ATTR:host'],
            server['flavor']['original_name'],
            self.volumes[machine] in [each['volumeId'] for each in attached],
        )

    def failures(self, machine: str, name: str) -> int:
        """Return how many actions of a name have failed."""
        path = f'/servers/{machine}/os-instance-actions'
        answer = self.compute('GET', path, cloud=self.operator)
        return [
            (each['action'], each['message'])
            for each in answer['instanceActions']
        ].count((name, 'Error'))

    def refused(self) -> dict[str, Left]:
        """Try each operation on its server; return what it leaves."""
        bodies = {
            'live-migration': {'host': None, 'block_migration': 'auto'},
            'migrate': {'host': None},
            'resize': {'flavorRef': self.flavor('small')},
        }
        by_way = {
            name: self.act(self.machines[name], name, body)
            for name, body in bodies.items()
        }
        with self.disabled(servers.FIRST):
            by_way['unshelve'] = self.act(self.offloaded, 'unshelve', None)
        return by_way

    def recover(self, machine: str) -> None:
        """Recover a server after a refused migration, as the page says."""
        folder = self.useFixture(fixtures.TempDir()).path
        connector = pathlib.Path(folder, 'connector.json')
        connector.write_text(
            nova_compute.run(
                'nova-rbd-cache', 'connector', host=servers.SECOND
            )
        )
        words = ['recover', machine, '--os-cloud', 'admin', '-f', 'json']
        words += ['--connector', str(connector), '--cache-mode', 'none']
        planned, done = (
            json.loads(nova_compute.run('nova-rbd-cache', *words, *more))
            for more in ((), ('--apply',))
        )
        self.assertEqual(5, len(planned))
        self.assertEqual(
            [each['Step'] for each in planned], [each['Step'] for each in done]
        )
        self.wait_for_server(machine)
        volume = self.volumes[machine]
        self.assertEqual('none', self.cache_mode(machine, volume))

    def test_operations_are_refused_before_anything_changes(self) -> None:
        filtered = test_compute_options.documented_filter()
        moved = self.machines['live-migration']
        with self.configured(_NONE_ALLOWED, servers.SECOND):
            with nova_compute.scheduled(filtered):
                self.assertEqual(_BY_THE_FILTER, self.refused())
            self.assertEqual(_BY_CINDER, self.refused())
            self.recover(self.machines['migrate'])
            mode = self.cache_mode(moved, self.volumes[moved])
            self.assertEqual('writeback', mode)
            with self.down(servers.FIRST):
                in_error = Left('ERROR', servers.FIRST)
                with nova_compute.scheduled(filtered):
                    self.assertEqual(in_error, self.act(moved, 'evacuate', {}))
                self.assertEqual(in_error, self.act(moved, 'evacuate', {}))
