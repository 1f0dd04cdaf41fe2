# SPDX-License-Identifier: Apache-2.0

"""The clients that the part `clients` runs, from the registries.

Those in Go are compiled: no registry has them as programs. This takes many
minutes; the results are kept, by version.
"""

import dataclasses
import fcntl
import json
import os
import pathlib
import shutil
import subprocess

from sandbox_cloud import state
from sandbox_cloud import venvs

#: The release whose constraints apply to their Python packages: the collection
#: of Ansible does not work with the SDK of the newest release.
RELEASE = state.releases()[0]
REQUIREMENTS = 'tests/clients/requirements.txt'
# Below the programs of the tests, which have a higher priority.
_NICE = ('nice', '--adjustment=10')


@dataclasses.dataclass(frozen=True)
class Program:
    """A program in Go.

    :param module: the Go module, whose proxy also has its checksum
    :param package: the package of the program, relative to the module
    :param name: the name of the program's file
    :param files: files that are kept with the program: a module that it
        requires, and a path in it
    """

    module: str
    version: str
    package: str
    name: str
    files: tuple[tuple[str, str], ...] = ()

    @property
    def folder(self) -> pathlib.Path:
        """The folder of the program and its files."""
        return venvs.cache() / 'clients' / f'{self.name}-{self.version}'

    @property
    def path(self) -> pathlib.Path:
        """The program."""
        return self.folder / self.name


CSI = Program(
    'k8s.io/cloud-provider-openstack',
    'v1.36.0',
    './cmd/cinder-csi-plugin',
    'cinder-csi-plugin',
    (('github.com/container-storage-interface/spec', 'csi.proto'),),
)
PROVIDER = Program(
    'github.com/terraform-provider-openstack/terraform-provider-openstack/v3',
    'v3.4.0',
    '.',
    'terraform-provider-openstack',
)
TOFU = Program('github.com/opentofu/opentofu', 'v1.10.6', './cmd/tofu', 'tofu')
PROGRAMS = (CSI, PROVIDER, TOFU)


def venv() -> venvs.Venv:
    """Return the virtual environment of the clients, without installing."""
    return venvs.of_tests(RELEASE, 'clients')


def bring() -> None:
    """Install and compile the clients that are missing."""
    with (venvs.cache() / 'clients.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        environment = venvs.for_tests(
            RELEASE, 'test', 'clients', [REQUIREMENTS]
        )
        go = _Go(environment.program('go'))
        for program in PROGRAMS:
            if not program.path.exists():
                print(f'compiling {program.name}, some minutes', flush=True)
                go.build(program)
        go.remove()


class _Go:
    """Go, with its modules and compiled packages in a folder."""

    def __init__(self, go: str) -> None:
        self._go = go
        self._folder = venvs.cache() / 'clients' / 'go'
        self._environ = {
            **os.environ,
            'GOPATH': str(self._folder / 'path'),
            'GOCACHE': str(self._folder / 'cache'),
            # Programs of one version everywhere, whatever is installed.
            'CGO_ENABLED': '0',
            'GOTOOLCHAIN': 'local',
            # Modules are read-only by default and could not be removed.
            'GOFLAGS': '-modcacherw',
        }

    def build(self, program: Program) -> None:
        """Compile a program; it exists only if this succeeded."""
        source = self._folder_of(program.module, program.version)
        scratch = program.folder.with_name(f'{program.folder.name}.new')
        scratch.mkdir(parents=True, exist_ok=True)
        target = str(scratch / program.name)
        self._run(
            *('build', '-C', source, '-trimpath', '-ldflags=-s -w'),
            *('-o', target, program.package),
        )
        for module, path in program.files:
            required = self._json('list', '-C', source, '-m', '-json', module)
            folder = self._folder_of(module, required['Version'])
            shutil.copy(pathlib.Path(folder, path), scratch)
        scratch.rename(program.folder)

    def remove(self) -> None:
        """Remove what only the compiler needs: several gigabytes."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _folder_of(self, module: str, version: str) -> str:
        name = f'{module}@{version}'
        return self._json('mod', 'download', '-json', name)['Dir']

    def _json(self, *words: str) -> dict[str, str]:
        document: dict[str, str] = json.loads(self._run(*words))
        return document

    def _run(self, *words: str) -> str:
        return subprocess.run(
            [*_NICE, self._go, *words],
            env=self._environ,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
