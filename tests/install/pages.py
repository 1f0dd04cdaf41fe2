# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""What the pages on installation have an operator do."""

from collections.abc import Iterator
import pathlib
import textwrap

from tests.cloud import documented

_PAGES = documented.ROOT / 'doc' / 'source' / 'install'
_INI = '.. code-block:: ini'
#: What stands for the operator's own.
_VENV = '/path/to/{service}-venv'
_CHECKOUT = '/path/to/the/checkout'
_WHEEL = 'rbd_volume_options-*.whl'


def script(
    page: str, service: str, venv: pathlib.Path, wheel: pathlib.Path
) -> str:
    """Return a page's commands as a shell script, with paths of a test.

    Without those that restart a service, which systemd would have to run.
    """
    lines = [
        command.text
        for command in documented.commands(_PAGES / page)
        if not command.text.startswith('systemctl ')
    ]
    return (
        '\n'.join(lines)
        .replace(_VENV.format(service=service), str(venv))
        .replace(_CHECKOUT, str(wheel))
        .replace(_WHEEL, str(wheel))
    )


def configuration(page: str) -> str:
    """Return all of a page's lines for configuration files."""
    return '\n'.join(_blocks((_PAGES / page).read_text().splitlines()))


def _blocks(lines: list[str]) -> Iterator[str]:
    """Yield the content of each block of ini."""
    for number, line in enumerate(lines):
        if line.strip() != _INI:
            continue
        block = []
        for each in lines[number + 1 :]:
            if each and not each.startswith(' '):
                break
            block.append(each)
        yield textwrap.dedent('\n'.join(block)).strip()
