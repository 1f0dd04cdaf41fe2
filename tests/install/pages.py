# SPDX-License-Identifier: Apache-2.0
"""Commands and configuration in the installation guide."""

from collections.abc import Iterator
import dataclasses
import itertools
import pathlib
import re
import textwrap

from tests.cloud import documented

_PAGES = documented.ROOT / 'doc' / 'source' / 'install'
#: Placeholders for the operator's values.
_VENV = '/path/to/{service}-venv'
_CHECKOUT = '/path/to/the/checkout'
_WHEEL = 'rbd_volume_options-*.whl'
_FILE = re.compile(r'``(/etc/[^`]+)``')


def script(
    page: str, service: str, venv: pathlib.Path, wheel: pathlib.Path
) -> str:
    """Return a page's commands as a shell script with a test's paths.

    ``systemctl`` and ``ceph`` commands are left out: there is neither
    systemd nor a cluster.
    """
    lines = [
        command.text
        for command in documented.commands(_PAGES / page)
        if not command.text.startswith(('systemctl ', 'ceph '))
    ]
    return (
        '\n'.join(lines)
        .replace(_VENV.format(service=service), str(venv))
        .replace(_CHECKOUT, str(wheel))
        .replace(_WHEEL, str(wheel))
    )


def configuration(page: str) -> str:
    """Return a page's lines for configuration files."""
    return '\n'.join(block.text for block in blocks(page, 'ini'))


@dataclasses.dataclass(frozen=True)
class Block:
    """A code block on a page and the last file named before it."""

    file: str
    text: str


def blocks(page: str, language: str) -> Iterator[Block]:
    """Yield the code blocks of a page in a given language."""
    lines = (_PAGES / page).read_text().splitlines()
    file = ''
    for number, line in enumerate(lines):
        file = (_FILE.findall(line) or [file])[-1]
        if line.strip() == f'.. code-block:: {language}':
            block = _indented(lines[number + 1 :], _indent(line))
            yield Block(file, textwrap.dedent('\n'.join(block)).strip())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _indented(lines: list[str], more_than: int) -> Iterator[str]:
    """Return the lines of a block, which may be inside a list item."""
    return itertools.takewhile(
        lambda each: not each or _indent(each) > more_than, lines
    )
