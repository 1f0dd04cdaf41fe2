# SPDX-License-Identifier: Apache-2.0

"""Test that the commands in the documentation work as written."""

from collections.abc import Callable
import re
import subprocess
from typing import Any
import uuid

from tests.cloud import base
from tests.cloud import documented
from tests.cloud import servers

#: Names in the documentation that differ in the sandbox.
_RENAMED = {
    'volume_backend_name=ceph': 'volume_backend_name=rbd',
}
_KINDS = ('volumes', 'backups', 'snapshots', 'types')


def _ids(api: Any, kind: str) -> set[str]:
    query = '' if kind == 'types' else '?all_tenants=1'
    answer = api.get(f'/{kind}{query}', microversion=base.MICROVERSION)
    (records,) = answer.json().values()
    return {record['id'] for record in records}


class DocumentedCommandsTest(servers.ServerTestCase):
    """One test for each page: the commands of a page build on each other."""

    timeout = 600

    def setUp(self) -> None:
        super().setUp()
        self.cloud = 'demo'

    def run_page(self, name: str) -> None:
        """Run the commands of a page; remove the resources they created."""
        self.cloud = 'admin' if '/admin/' in name else 'demo'
        text = (documented.ROOT / name).read_text()
        api = self.operator.block_storage
        for kind in _KINDS:
            self.addCleanup(self._remove_new, kind, _ids(api, kind))
        for words, prepare in self._preparations.items():
            if words in text:
                prepare(self)
        for command in documented.commands(documented.ROOT / name):
            if not command.reason_not_to_run:
                self._type(command)

    def _type(self, command: documented.Command) -> None:
        text = command.text
        for theirs, ours in _RENAMED.items():
            text = text.replace(theirs, ours)
        text = re.sub(r'<id of (?:the )?(\w+)>', self._id_of, text)
        environ = f'eval "$(tools/sandbox env --cloud {self.cloud})"'
        done = subprocess.run(
            ['bash', '-euc', f'{environ}; {text}'],
            cwd=documented.ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        where = f'{command.page}:{command.line}: {text}\n{done.stdout}'
        self.assertEqual(0, done.returncode, where)
        self.until(self._settled)

    def _settled(self) -> bool:
        """Return whether no volume is in a transitional state."""
        answer = self.operator.block_storage.get(
            '/volumes/detail?all_tenants=1', microversion=base.MICROVERSION
        )
        return not any(
            record['status'].endswith('ing')
            for record in answer.json()['volumes']
        )

    def _id_of(self, found: re.Match[str]) -> str:
        """Return the ID of the volume that a page refers to by name."""
        volume = self.operator.block_storage.find_volume(
            found[1], ignore_missing=False, all_projects=True
        )
        ident: str = volume.id
        return ident

    def _remove_new(self, kind: str, before: set[str]) -> None:
        for ident in _ids(self.operator.block_storage, kind) - before:
            if kind == 'types':
                self.operator.block_storage.delete(f'/types/{ident}')
            else:
                self.remove(ident, kind)

    # Prerequisites of pages

    def _volume(self) -> None:
        ident = self.created(name='volume')
        subprocess.run(
            [
                *('rbd', 'image-meta', 'set', f'volumes/volume-{ident}'),
                *('conf_rbd_cache', 'true'),
            ],
            check=True,
        )

    def _backup(self) -> None:
        volume = self.created(name=f'source-{uuid.uuid4().hex[:8]}')
        answer = self.request(
            'POST', '/backups', {'backup': {'volume_id': volume, 'name': 'b'}}
        )
        self.wait_for(answer['backup']['id'], kind='backups')

    def _server(self) -> None:
        self.boot(name='server')

    _preparations: dict[str, Callable[['DocumentedCommandsTest'], None]] = {
        '<id of the volume>': _volume,
        '--backup b ': _backup,
        ' server v\n': _server,
    }


def _add_tests() -> None:
    """Add a test for each page with commands to run."""
    for page in documented.pages():
        name = str(page.relative_to(documented.ROOT))
        if all(c.reason_not_to_run for c in documented.commands(page)):
            continue

        def test(self: DocumentedCommandsTest, name: str = name) -> None:
            self.run_page(name)

        label = re.sub(r'\W+', '_', name.removesuffix('.rst'))
        setattr(DocumentedCommandsTest, f'test_{label}', test)


_add_tests()
