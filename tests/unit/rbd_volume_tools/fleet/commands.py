# SPDX-License-Identifier: Apache-2.0

"""A command of ``cinder-rbd-ext``, with a pool and records that are given."""

from importlib import metadata
import io
import json
import pathlib
import types
from typing import Any
from unittest import mock

import fixtures
from openstack import exceptions

from rbd_volume_tools import shell
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs


class CommandTestCase(base.TestCase):
    """A volume without a map."""

    def setUp(self) -> None:
        super().setUp()
        self.pool = stubs.Pool(f'volume-{facts.IDENT}')
        self.known = facts.known(facts.volume())
        cluster = stubs.cluster(self.pool)
        self.connected = self.replace(scan, 'of_options', return_value=cluster)
        self.replace(records, 'of_cloud', side_effect=lambda *args: self.known)
        self.cloud = self.replace(shell.Shell, 'cloud')
        config = self.cloud.return_value.config
        config.get_auth_args.return_value = {'auth_url': 'https://keystone'}
        config.get_region_name.return_value = 'one'
        find = self.cloud.return_value.identity.find_project
        find.side_effect = self._project
        self.replace(metadata, 'version', return_value='1')
        self.out, self.err = io.StringIO(), io.StringIO()
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.out))
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', self.err))
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.journal = folder / 'journal'
        self.path = folder / 'plan.json'

    def _project(self, name: str, ignore_missing: bool) -> Any:
        """Return the only project that was not deleted."""
        if name not in ('other', 'Ümlaut'):
            raise exceptions.NotFoundException(name)
        return types.SimpleNamespace(id='other', is_domain=False)

    def replace(self, owner: Any, name: str, **kwargs: Any) -> Any:
        """Replace a function for the test."""
        patch = mock.patch.object(owner, name, autospec=True, **kwargs)
        self.addCleanup(patch.stop)
        return patch.start()

    def run_command(self, *words: str) -> int:
        """Run a command, which shows only its own rows; return its status."""
        self.out.truncate(0)
        self.out.seek(0)
        return shell.main([*words, '-f', 'json'])

    def run_plain(self, *words: str) -> int:
        """Run a command without rows and return its status."""
        return shell.main([*words])

    noun = ''

    def plan(self, *words: str) -> int:
        """Make a plan in a new file and return the status of the command."""
        self.path.unlink(missing_ok=True)
        return self.run_command(
            self.noun, 'plan', '-o', str(self.path), *words
        )

    def apply(self, *words: str) -> int:
        """Apply the plan and return the status of the command."""
        return self.run_command(
            *(self.noun, 'apply', str(self.path)),
            *('--journal', str(self.journal), *words),
        )

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.out.getvalue())
        return rows
