# SPDX-License-Identifier: Apache-2.0

"""The cloud: starts its services in order, and stops them."""

from __future__ import annotations

from collections.abc import Sequence
import functools

from sandbox_cloud import packages
from sandbox_cloud import processes
from sandbox_cloud import schedule
from sandbox_cloud import services
from sandbox_cloud.contract import Service
from sandbox_cloud.progress import Progress
from sandbox_cloud.runtime import Runtime
from sandbox_cloud.state import State


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
        schedule.run(self._tasks(progress))

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

    def _tasks(self, progress: Progress) -> Sequence[schedule.Task]:
        def task(
            name: str, action: str, needs: set[str], each: Service
        ) -> schedule.Task:
            return schedule.Task(
                name,
                functools.partial(self._step, progress, name, each, action),
                frozenset(needs),
            )

        tasks = []
        for each in self.services.values():
            name = each.name
            begin = {f'{other} ready' for other in each.initialise_after}
            ready = {f'{other} ready' for other in each.requires}
            last = {f'{other} known' for other in each.introduce_after}
            tasks += [
                task(f'{name} initialised', 'initialise', begin, each),
                task(
                    f'{name} ready',
                    'start',
                    ready | {f'{name} initialised'},
                    each,
                ),
                task(
                    f'{name} known',
                    'introduce',
                    last | {f'{name} ready'},
                    each,
                ),
            ]
        return tasks

    def _step(
        self, progress: Progress, name: str, each: Service, action: str
    ) -> None:
        if getattr(type(each), action) is getattr(Service, action) and (
            action != 'start'
        ):
            # There is nothing to do and nothing to show.
            return
        with progress.step(name):
            getattr(each, action)()
            if action == 'start':
                each.wait()
