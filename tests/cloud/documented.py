# SPDX-License-Identifier: Apache-2.0

"""The commands in the documentation."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]

#: Prefixes of the commands that are not run here, with the reason.
NOT_RUN: Mapping[str, str] = {
    'cinder-rbd-ext --os-cloud admin mark': 'the sandbox has no ID of the '
    'cloud; tests/functional runs it',
    'cinder-rbd-ext --os-cloud admin bench': 'boots a server, which takes '
    'minutes',
    'cinder-rbd-ext --os-cloud admin retype apply': 'would change the volumes '
    'of other tests; test_retype_many runs it',
    'cinder-rbd-ext bench': 'takes minutes; tests/functional runs it',
    'nova-rbd-cache check': 'belongs on a compute host; has tests of its own',
    'nova-rbd-cache connector': 'belongs on a compute host; tested there',
    'nova-manage volume_attachment': 'changes a server; has tests of its own',
    'nova-rbd-cache guests': 'belongs on a compute host; has its own tests',
    'nova-rbd-cache hosts': 'the sandbox has no such program outside Nova; '
    'has its own tests',
    'cinder-rbd-ext --os-cloud admin fleet undelete 2f1f0bb5': 'there is no '
    'such volume; test_undelete runs it',
    'openstack role add': 'would change the rights of the administrator',
    'openstack flavor set': 'would change the flavor of other tests',
    'openstack image set': 'would change the Glance image of other tests',
    'tools/': 'this is what runs the tests',
    'pip install': 'tests/structure installs the wheel',
    'python3 -m venv rally': 'an environment of 128 distributions',
    'rally/bin/': 'the same',
    '/path/to/cinder-venv/': 'would change the suite under all other tests',
    'python3 benchmarks/': 'tests/functional and test_benchmarks run them',
    'openstack --os-compute-api-version 2.53 compute service set': 'needs a '
    'host that is off',
    'openstack server list --all-projects --host HOST': 'the same',
    'openstack server evacuate': 'the same',
    'openstack server start SERVER': 'the same',
    'openstack server reboot --hard SERVER': 'the same',
    'rados --pool volumes lock info': 'needs the ID of an image',
    'rbd trash restore': 'the trash has no such image',
    'systemctl': 'there is no systemd',
    'ln -s /opt/': 'a path of an example',
    'kubectl': 'tests/clients sends what Kubernetes sends',
    'tofu': 'tests/clients runs it',
    'ceph auth rotate': 'needs Ceph 20.2',
    'ceph mon set auth_allowed_ciphers': 'the same',
    'sed -i': 'would change the checkout that runs the tests',
    'stock=': 'the same',
    'ceph auth caps': 'would take capabilities that other tests need',
}

#: Prefixes of commands whose status shows what other tests have left.
STATUSES: Mapping[str, frozenset[int]] = {
    'cinder-rbd-ext --os-cloud admin audit': frozenset({0, 1, 2}),
    'cinder-rbd-ext --os-cloud admin clean plan': frozenset({0, 1}),
    'cinder-rbd-ext --os-cloud admin object-map plan': frozenset({0, 1}),
    'cinder-rbd-ext doctor': frozenset({0, 1, 2}),
    'cinder-rbd-ext --os-cloud admin doctor': frozenset({0, 1, 2}),
    # The server is ended by a signal.
    'cinder-rbd-ext --os-cloud admin exporter': frozenset({0, 124}),
}

_PROMPT = re.compile(r'^\s+[$#] (?P<command>\S.*)$')
_COMMENT = re.compile(r'\s+# .*$')


@dataclasses.dataclass(frozen=True)
class Command:
    """A command on a page, with continuation lines joined."""

    page: str
    line: int
    text: str

    @property
    def reason_not_to_run(self) -> str | None:
        """The reason to skip the command; None if it is run."""
        for beginning, reason in NOT_RUN.items():
            if self.text.startswith(beginning):
                return reason
        return None

    @property
    def statuses(self) -> frozenset[int]:
        """The exit statuses that the command may have."""
        for beginning, statuses in STATUSES.items():
            if self.text.startswith(beginning):
                return statuses
        return frozenset({0})


def pages() -> list[pathlib.Path]:
    """Return the pages for operators and users, the README first.

    The installation and contributor guides are left out: their commands
    need another environment.
    """
    return [
        ROOT / 'README.rst',
        *sorted((ROOT / 'doc/source/admin').rglob('*.rst')),
        *sorted((ROOT / 'doc/source/user').rglob('*.rst')),
    ]


def commands(page: pathlib.Path) -> Iterator[Command]:
    """Yield the commands on a page, in order.

    Commands are the lines of ``console`` blocks that begin with a prompt.
    Their output is ignored.
    """
    lines = iter(enumerate(page.read_text().splitlines(), 1))
    block = -1
    for number, line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() == '.. code-block:: console':
            block = indent
        elif line.strip() and indent <= block:
            block = -1
        prompt = _PROMPT.match(line) if block >= 0 else None
        if prompt:
            text = prompt['command']
            while text.endswith('\\'):
                text = f'{text[:-1].rstrip()} {next(lines)[1].strip()}'
            name = str(page.relative_to(ROOT))
            yield Command(name, number, _COMMENT.sub('', text))


def blocks(page: pathlib.Path, language: str) -> list[str]:
    """Return the literal blocks of a language on a page, in order."""
    text = page.read_text()
    indented = re.findall(
        rf'^\.\. code-block:: {language}\n\n((?:(?: .*)?\n)+)', text, re.M
    )
    return [textwrap.dedent(block) for block in indented]
