# SPDX-License-Identifier: Apache-2.0

"""Moves of a server at random, in which nova-compute is sometimes killed."""

from collections.abc import Callable
import contextlib
import os
import random
import threading
import time

from tests import runs
from tests.cloud import nova_compute
from tests.cloud import servers
from tests.cloud import test_cache_modes
from tests.cloud import test_moves


@runs.tags(runs.NIGHTLY)
class RandomMovesTest(test_moves.UnbootedTestCase):
    """Operations at random, in which nova-compute is sometimes killed.

    The seed is in ``RBD_TEST_SEED`` and the number in ``RBD_TEST_MOVES``.
    """

    timeout = 7200

    def setUp(self) -> None:
        super().setUp()
        self.boot_nothing()
        self.write(*self.requested, *map(self.add, test_cache_modes.EFFECTS))

    def elsewhere(self) -> str:
        """Return the host that does not have the server."""
        hosts = {servers.FIRST, servers.SECOND}
        (other,) = hosts - {self.host()}
        return other

    def cold_and(self, end: Callable[[], None]) -> Callable[[], None]:
        def go() -> None:
            self.cold()
            end()

        return go

    def unshelve(self) -> None:
        self.act('shelve', None, 'SHELVED_OFFLOADED')
        self.act('unshelve', None)

    def evacuate_from_here(self) -> None:
        with self.down(self.host()):
            self.act('evacuate', {}, 'SHUTOFF')
            self.act('os-start', None)

    def recover(self) -> None:
        """Do what users and operators of stock Nova do after a kill.

        :raises AssertionError: if the server does not start again
        """

        def settled() -> bool:
            record = self.server(self.machine)
            return not record['OS-EXT-STS:task_state']

        # nova-compute settles what it was doing when it starts.
        with contextlib.suppress(AssertionError):
            self.until(settled, 45)
        record = self.server(self.machine)
        if record['status'] == 'VERIFY_RESIZE':
            self.revert()
        elif record['status'] == 'SHELVED_OFFLOADED':
            self.act('unshelve', None)
        elif record['status'] != 'ACTIVE' or not settled():
            self.server_action(
                self.machine, **{'os-resetState': {'state': 'active'}}
            )
        self.reboot()

    def test_live_there_and_back(self) -> None:
        there, back = self.live(servers.SECOND), self.live(servers.FIRST)
        with self.configured(test_moves.FEWER, servers.SECOND):
            for _round in range(2):
                self.check([('live migration', there, self.none)])
                self.check_data()
                self.check([('live migration back', back, self.requested)])
                self.check_data()

    def test_random_moves_with_kills(self) -> None:
        seed = int(os.environ.get('RBD_TEST_SEED', '261128'))
        draw = random.Random(seed)
        ways: dict[str, Callable[[], None]] = {
            'live migration': lambda: self.live(self.elsewhere())(),
            'cold migration': self.cold_and(self.confirm),
            'reverted migration': self.cold_and(self.revert),
            'hard reboot': self.reboot,
            'shelve and unshelve': self.unshelve,
            'evacuation': self.evacuate_from_here,
        }
        was_killed = False
        with self.configured(test_moves.FEWER, servers.SECOND):
            for number in range(int(os.environ.get('RBD_TEST_MOVES', '5'))):
                name = draw.choice(list(ways))
                kill = name != 'evacuation' and draw.random() < 0.4
                host = draw.choice([servers.FIRST, servers.SECOND])
                later = draw.uniform(0.2, 9)
                words = f'{number} of {seed}: {name}'
                if kill:
                    words += f', nova-compute of {host} killed in {later:.1f}'
                print(words, flush=True)
                start = time.monotonic()
                self.move(ways[name], host if kill else '', later)
                # Other moves make new attachments.
                if kill or name not in ('hard reboot', 'live migration'):
                    was_killed = kill
                moved = time.monotonic()
                self.check_after(words, was_killed)
                checked = time.monotonic()
                print(
                    f'moved in {moved - start:.0f} s, checked in '
                    f'{checked - moved:.0f} s',
                    flush=True,
                )

    def move(self, go: Callable[[], None], host: str, later: float) -> None:
        """Run an operation; kill nova-compute of a host in the meantime."""
        if not host:
            return go()
        killer = threading.Timer(later, nova_compute.kill, [host])
        killer.start()
        # Nova does not complete each of them.
        self.patience = 60
        try:
            with contextlib.suppress(AssertionError):
                go()
        finally:
            del self.patience
            killer.join()
            self.wait_for_report(host)
        return self.recover()

    def check_after(self, words: str, was_killed: bool) -> None:
        """Check volumes, modes and data.

        A cold migration makes a new attachment before it deletes the former
        one. If nova-compute is killed between, the volume stays reserved until
        the next migration, with any driver.
        """
        self.wait_for_server(self.machine)
        has_modes = self.host() == servers.FIRST
        expected = self.requested if has_modes else self.none
        self.assertEqual(expected, self.cache_modes(self.machine), words)
        elsewhere = self._virsh(self.elsewhere(), 'list', '--uuid')
        self.assertNotIn(self.machine, elsewhere, words)
        for volume in self.requested:
            shown = self.show(volume)
            statuses = {'in-use', 'reserved'} if was_killed else {'in-use'}
            self.assertIn(shown['status'], statuses, words)
            for mode in shown[test_moves.REQUESTED].values():
                self.assertEqual(self.requested[volume], mode, words)
        self.check_data()
