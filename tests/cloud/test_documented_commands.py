# SPDX-License-Identifier: Apache-2.0

"""Test that the commands in the documentation work as written."""

from collections.abc import Callable
import itertools
import pathlib
import re
import subprocess
import textwrap
from typing import Any
import uuid

import fixtures

from tests import runs
from tests.cloud import base
from tests.cloud import documented
from tests.cloud import servers

#: Names in the documentation that differ in the sandbox.
_RENAMED = {
    'volume_backend_name=ceph': 'volume_backend_name=rbd',
    'volume_backend_name: ceph': 'volume_backend_name: rbd',
    '--backend ceph': '--backend rbd',
    '/etc/ceph/': '${CEPH_CONF%/*}/',
    '/etc/cinder/': '$RBD_SANDBOX_STATE/run/etc/cinder/',
    '/var/lib/openstack-dashboard/': './',
    '/var/lib/prometheus/node-exporter/': './',
    # The files of a host that has all services.
    ' doctor': ' doctor '
    '--cinder-config $RBD_SANDBOX_STATE/run/etc/cinder/cinder.conf '
    '--glance-config $RBD_SANDBOX_STATE/run/etc/glance/glance-api.conf '
    '--nova-config $RBD_SANDBOX_STATE/run/etc/nova/nova-compute.conf',
    '192.0.2.11': '127.0.0.1',
    '192.0.2.12': '127.0.0.1',
}
# Removed in reverse order.
_KINDS = ('types', 'volumes', 'backups', 'snapshots')
#: A server is ended after some seconds.
_EXPORTER = 'cinder-rbd-ext --os-cloud admin exporter --ceph-user audit'
#: A file that a page uses.
_FILE = '``types.yaml``'
_AUDIT_PAGE = documented.ROOT / 'doc/source/admin/audit.rst'


def _renamed(text: str) -> str:
    for theirs, ours in _RENAMED.items():
        text = text.replace(theirs, ours)
    return text


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
        self.folder = self.useFixture(fixtures.TempDir()).path

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
        if _FILE in text:
            self._write(text)
        for command in documented.commands(documented.ROOT / name):
            if not command.reason_not_to_run:
                self._type(command)

    def _write(self, page: str) -> None:
        """Write the file that a page shows after its name."""
        block = page.partition(_FILE)[2].partition('yaml\n\n')[2]
        indented = itertools.takewhile(
            lambda line: line.startswith('   '), block.splitlines()
        )
        content = _renamed(textwrap.dedent('\n'.join(indented)))
        pathlib.Path(self.folder, 'types.yaml').write_text(content)

    def _type(self, command: documented.Command) -> None:
        text = _renamed(command.text)
        if text == _EXPORTER:
            text = f'timeout 15 {text} --port 0'
        text = re.sub(r'<id of (?:the )?(\w+)>', self._id_of, text)
        sandbox = documented.ROOT / 'tools/sandbox'
        environ = f'eval "$({sandbox} env --cloud {self.cloud})"'
        done = subprocess.run(
            ['bash', '-euc', f'{environ}; {text}'],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        where = f'{command.page}:{command.line}: {text}\n{done.stdout}'
        self.assertIn(done.returncode, command.statuses, where)
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

    def _id_of(self, match: re.Match[str]) -> str:
        """Return the ID of the volume that a page refers to by name."""
        volume = self.operator.block_storage.find_volume(
            match[1], ignore_missing=False, all_projects=True
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

    def _audit_user(self) -> None:
        for command in documented.commands(_AUDIT_PAGE):
            if command.text.startswith(('ceph auth', 'chmod')):
                self._type(command)

    def _ssd(self) -> None:
        specs = {'volume_backend_name': 'rbd'}
        body = {'volume_type': {'name': 'ssd', 'extra_specs': specs}}
        self.request('POST', '/types', body, self.operator)

    _preparations: dict[str, Callable[['DocumentedCommandsTest'], None]] = {
        '<id of the volume>': _volume,
        '--backup b ': _backup,
        ' server v\n': _server,
        '--ceph-user audit': _audit_user,
        '--volume-type ssd': _ssd,
    }


#: Several commands of some seconds each; other tests run them.
_NIGHTLY = (
    'changes',
    'dashboard',
    'doctor',
    'limits',
    'monitoring',
    'upgrade',
)


def _add_tests() -> None:
    """Add a test for each page with commands to run."""
    for page in documented.pages():
        name = str(page.relative_to(documented.ROOT))
        if all(c.reason_not_to_run for c in documented.commands(page)):
            continue

        def test(self: DocumentedCommandsTest, name: str = name) -> None:
            self.run_page(name)

        if page.stem in _NIGHTLY:
            runs.tags(runs.NIGHTLY)(test)
        label = re.sub(r'\W+', '_', name.removesuffix('.rst'))
        setattr(DocumentedCommandsTest, f'test_{label}', test)


_add_tests()
