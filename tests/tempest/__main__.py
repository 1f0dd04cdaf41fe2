# SPDX-License-Identifier: Apache-2.0

"""Run Tempest on the sandbox, with our plug-in from the built wheel.

Usage: ``python -m tests.tempest LIST [REGEX...]``, with the environment of the
sandbox's clients. The output is the subunit stream of `tempest run`. As usual
for Tempest, its virtual environment contains no service.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from sandbox_cloud import state
from sandbox_cloud import venvs
from tests import distribution
from tests import tree

_LISTS = tree.ROOT / 'tests' / 'tempest'
_WORKERS = '2'


def main(include: str, *regexes: str) -> int:
    """Run tests; return the exit status of Tempest.

    :param include: the list of tests to run if there are no regexes
    """
    release = os.environ.get('RBD_TEST_RELEASE') or state.releases()[-1]
    venv = venvs.for_tests(
        release, 'test', 'tempest', ['tests/tempest/requirements.txt']
    )
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        wheel = distribution.build(scratch / 'dist').wheel
        venv.install('--reinstall', '--no-deps', str(wheel))
        program, run = venv.program('tempest'), scratch / 'run'
        known = ['--workspace-path', str(scratch / 'workspaces.yaml')]
        _say(program, 'init', *known, str(run))
        conf = str(run / 'etc' / 'tempest.conf')
        _say(sys.executable, '-m', 'tests.tempest.configure', conf)
        command = [program, 'run', '--subunit', '--concurrency', _WORKERS]
        command += [*known, '--config-file', conf]
        command += ['--exclude-list', str(_LISTS / 'exclude.txt')]
        if regexes:
            command += ['--regex', '|'.join(regexes)]
        else:
            command += ['--include-list', str(_LISTS / include)]
        # stestr starts its workers with PYTHON.
        env = {**venv.environ(), 'PYTHONWARNINGS': 'ignore'}
        return subprocess.run(command, cwd=run, env=env).returncode


def _say(*command: str) -> None:
    """Run a command; keep its output out of the stream."""
    subprocess.run(command, check=True, stdout=sys.stderr)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
