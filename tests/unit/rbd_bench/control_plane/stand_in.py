# SPDX-License-Identifier: Apache-2.0

"""A stand-in for the program rally, which answers with recorded results.

It cannot show that rally accepts its arguments: the results were recorded on
a sandbox, with rally 5.1.1 and rally-openstack 4.1.0.
"""

import json
import pathlib
import sys
from typing import Any

RESULTS = pathlib.Path(__file__).with_name('results.json')
UUID = '0dd2bb2b-93b9-4a8c-8b6c-0e3ea5a3c6bb'

_PROGRAM = """#!{python}
import json, os, pathlib, sys, time
folder = pathlib.Path({folder!r})
words = sys.argv[1:]
with (folder / 'calls').open('a') as calls:
    calls.write(json.dumps([words, dict(os.environ)]) + '\\n')
if words[:1] == ['--config-file']:
    (folder / 'rally.conf').write_text(pathlib.Path(words[1]).read_text())
    words = words[2:]
if pathlib.Path(folder, words[-1] + '-fails').exists() or pathlib.Path(
    folder, '-'.join(words[:2]) + '-fails'
).exists():
    if words[:2] == ['env', 'create']:
        print(pathlib.Path(words[-1]).read_text())
    print('sorry')
    sys.exit(1)
if words == ['version']:
    print((folder / 'version').read_text())
elif words[:2] == ['env', 'create']:
    path = pathlib.Path(words[words.index('--spec') + 1])
    (folder / 'mode').write_text(oct(path.stat().st_mode & 0o777))
    (folder / 'environment').write_text(path.read_text())
elif words[:2] == ['task', 'start']:
    (folder / 'task').write_text(pathlib.Path(words[2]).read_text())
    print('Task  {uuid}: started', flush=True)
    print('Finished workload 1/1 (completed 1 of 2 in general).', flush=True)
    while (folder / 'waits').exists():
        time.sleep(0.05)
    (folder / 'ended').touch()
elif words[:2] == ['task', 'abort']:
    (folder / 'waits').unlink()
elif words[:2] == ['task', 'report']:
    path = pathlib.Path(words[words.index('--out') + 1])
    path.write_text(pathlib.Path({results!r}).read_text())
"""


def results() -> Any:
    """Return the recorded results."""
    return json.loads(RESULTS.read_text())


class Rally:
    """The stand-in.

    :param folder: for the program and for what it records
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.program = str(folder / 'rally')
        path = folder / 'rally'
        path.write_text(
            _PROGRAM.format(
                python=sys.executable,
                folder=str(folder),
                uuid=UUID,
                results=str(RESULTS),
            )
        )
        path.chmod(0o700)
        self.versions('Rally version: 5.1.1', '\trally-openstack: 4.1.0')

    def versions(self, *lines: str) -> None:
        """Set what the program says about its versions."""
        (self.folder / 'version').write_text('\n'.join(lines))

    def fails(self, *words: str) -> None:
        """Have a command of the program fail."""
        (self.folder / f'{"-".join(words)}-fails').touch()

    def waits(self) -> None:
        """Have a task run until it is aborted."""
        (self.folder / 'waits').touch()

    def calls(self) -> list[list[str]]:
        return [words for words, _ in self._calls()]

    def environments(self) -> list[dict[str, str]]:
        """Return the environment of each call."""
        return [values for _, values in self._calls()]

    def _calls(self) -> Any:
        lines = (self.folder / 'calls').read_text().splitlines()
        return [json.loads(line) for line in lines]

    def text(self, name: str) -> str:
        """Return what the program has recorded in a file."""
        return (self.folder / name).read_text()

    def has_ended(self) -> bool:
        """Return whether a task has ended on its own account."""
        return (self.folder / 'ended').exists()
