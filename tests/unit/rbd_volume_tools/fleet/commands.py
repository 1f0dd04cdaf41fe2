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
from rbd_volume_tools.audit import ceph_cluster
from rbd_volume_tools.audit import records
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
        self.connected = self.replace(
            ceph_cluster, 'connected', return_value=cluster
        )
        self.replace(records, 'of_cloud', side_effect=lambda *args: self.known)
        self.cloud = self.replace(shell.Shell, 'cloud')
        find = self.cloud.return_value.identity.find_project
        find.side_effect = self._project
        self.replace(metadata, 'version', return_value='1')
        self.out, self.err = io.StringIO(), io.StringIO()
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', self.out))
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', self.err))
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.journal = folder / 'journal'

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
        """Run a command and return its status."""
        return shell.main([*words, '-f', 'json'])

    def run_plain(self, *words: str) -> int:
        """Run a command without rows and return its status."""
        return shell.main([*words])

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.out.getvalue())
        return rows
