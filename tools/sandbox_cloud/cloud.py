# SPDX-License-Identifier: Apache-2.0

"""The cloud: starts its services in order, and stops them."""

from __future__ import annotations

from concurrent import futures
import graphlib

from sandbox_cloud import packages
from sandbox_cloud import processes
from sandbox_cloud import services
from sandbox_cloud.contract import Service
from sandbox_cloud.progress import Progress
from sandbox_cloud.runtime import Runtime
from sandbox_cloud.state import State

#: What is shown when a step has ended.
_DONE = {'initialise': 'initialised', 'start': 'ready', 'introduce': 'known'}


class Cloud:
    """All services of one release in one state folder."""

    def __init__(self, state: State, release: str) -> None:
        self.state = state
        self.runtime = Runtime(state, release)
        self.services: dict[str, Service] = {}
        for make in services.ALL:
            self.services[make.name] = make(self.runtime, self.services)

    def up(self, progress: Progress) -> None:
        """Start everything that does not run; idempotent."""
        self.state.release = self.runtime.release
        suite = self._install(progress)
        with progress.step('configuration'):
            if not self.runtime.supervisor.is_up():
                # Processes of a supervisor that was killed.
                processes.end(self.state.run)
            self._write_shims()
            for each in self.services.values():
                each.render()
            self.runtime.supervisor.up(
                [
                    program
                    for each in self.services.values()
                    for program in each.programs()
                ],
                suite,
            )
        self._run_steps(progress)

    def fetch(self, progress: Progress) -> None:
        """Do everything in advance that requires a network."""
        self._install(progress)
        with progress.step('guest image'):
            self.services['libvirt'].initialise()

    def _install(self, progress: Progress) -> str:
        if missing := packages.missing('sandbox'):
            with progress.step(f'{len(missing)} Debian packages'):
                packages.install(missing, self.state.log / 'apt.log')
        with progress.step(f'OpenStack {self.runtime.release}'):
            self.runtime.venv.bring_services(
                name
                for each in self.services.values()
                for name in each.distributions
            )
        with progress.step('our distribution'):
            suite = self.runtime.venv.bring_suite()
        return suite

    def _write_shims(self) -> None:
        (self.state.data / 'home').mkdir(mode=0o700, exist_ok=True)
        for name in ('sudo', 'with-etc-ceph'):
            target = self.state.bin / name
            self.runtime.render(name, target, etc=self.services['ceph'].etc)
            target.chmod(0o700)

    def _run_steps(self, progress: Progress) -> None:
        """Run the steps of all services with maximum parallelism.

        After a failure, no more steps start.
        """
        order: graphlib.TopologicalSorter[tuple[str, str]]
        order = graphlib.TopologicalSorter()
        for name, each in self.services.items():
            order.add(
                (name, 'initialise'),
                *((other, 'start') for other in each.initialise_after),
            )
            order.add(
                (name, 'start'),
                (name, 'initialise'),
                *((other, 'start') for other in each.requires),
            )
            order.add(
                (name, 'introduce'),
                (name, 'start'),
                *((other, 'introduce') for other in each.introduce_after),
            )
        order.prepare()
        running = {}
        # Threads only wait for processes, so their number may exceed the
        # cores.
        with futures.ThreadPoolExecutor(len(self.services)) as pool:
            while order.is_active():
                for step in order.get_ready():
                    running[pool.submit(self._step, progress, *step)] = step
                ended, _ = futures.wait(
                    running, return_when=futures.FIRST_COMPLETED
                )
                for future in ended:
                    future.result()
                    order.done(running.pop(future))

    def _step(self, progress: Progress, name: str, action: str) -> None:
        each = self.services[name]
        if getattr(type(each), action) is getattr(Service, action) and (
            action != 'start'
        ):
            # There is nothing to do and nothing to show.
            return
        with progress.step(f'{name} {_DONE[action]}'):
            getattr(each, action)()
            if action == 'start':
                each.wait()
