# SPDX-License-Identifier: Apache-2.0

"""A leftover of each kind, with as much of librbd as is called.

The functional test of clean examines and removes things on a cluster; this is
for states that are hard to plant.
"""

import dataclasses
import datetime
from typing import Any
from unittest import mock
import uuid

from rbd_volume_options import image_handles
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import use
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts

#: The image of a deleted volume, and that of one that Cinder has.
NAME, LIVE = f'volume-{facts.OTHER}', f'volume-{facts.IDENT}'
OURS, OTHER = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
NOW = datetime.datetime.now(datetime.timezone.utc)
HOUR = datetime.timedelta(hours=1)
DELETED = databases.Row(
    True, NOW - HOUR, 'project', (facts.CINDER_POOL,), has_record=True
)
CLONE = f'volume-{facts.OTHER}{image_handles.CLONE_SNAPSHOT}'


class Orphan:
    """An image of two hours ago, which is also the module and the cluster.

    :ivar fault: why it would end each process that opens it
    """

    RBD_SNAP_NAMESPACE_TYPE_USER = 0

    def __init__(self) -> None:
        self.created = self.accessed = NOW - 2 * HOUR
        self.ident = 'abc'
        self.mark = OURS
        self.group = ''
        self.is_mirrored = self.is_migrating = False
        self.lockers: Any = []
        self.watchers: list[Any] = []
        self.children: list[str] = []
        self.moved: list[tuple[str, int]] = []
        self.snapshots: list[str] = []
        self.librbd = self.librados = self
        self.fault = ''

    def read(
        self, pool: str, name: str, ident: str, ours: list[str]
    ) -> images.Image:
        """Return the facts about the image."""
        if self.fault:
            raise reading.NotRead(self.fault)
        image = facts.image(
            name,
            owner=self.mark,
            migrating=self.is_migrating,
            snapshots=tuple(
                facts.snapshot(each, *self.children, taken=self.created)
                for each in self.snapshots
            ),
            details=images.Details(
                use.of_image(self, frozenset(ours)),
                *(self.group, self.is_mirrored),
                (self.created, self.created, self.accessed),
            ),
        )
        return dataclasses.replace(image, ident=self.ident)

    def Image(self, ioctx: Any, **kwargs: Any) -> Any:
        return self

    def RBD(self) -> 'Orphan':
        return self

    def __enter__(self) -> 'Orphan':
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def get_pool_id(self) -> int:
        return 1

    def watchers_list(self) -> list[Any]:
        return self.watchers

    def list_lockers(self) -> Any:
        return self.lockers

    def list_snaps(self) -> list[dict[str, Any]]:
        return [
            {'id': name, 'name': name, 'namespace': 0}
            for name in self.snapshots
        ]

    def is_protected_snap(self, name: str) -> bool:
        return False

    def remove_snap_by_id(self, ident: str) -> None:
        self.snapshots.remove(ident)

    def trash_move(self, ioctx: Any, name: str, delay: int) -> None:
        self.moved.append((name, delay))


class LeftoverTestCase(base.TestCase):
    """A leftover of two hours ago, whose owner was deleted an hour later.

    :ivar rows: records of volumes in Cinder's database, by their ids
    :ivar listed: the directory of the pool
    """

    def setUp(self) -> None:
        super().setUp()
        image: Any = Orphan()
        self.image = image
        self.rows = {facts.OTHER: DELETED}
        self.listed = {LIVE: 'def'}
        cloud = mock.create_autospec(records.CloudNow, instance=True)
        cloud.has_record.return_value = False
        cloud.volume.return_value = None
        cloud.server_deleted.return_value = None
        stored = mock.create_autospec(databases.Databases, instance=True)
        stored.volumes.side_effect = lambda ident: list(
            filter(None, [self.rows.get(ident)])
        )
        stored.image.return_value = stored.backup.return_value = None
        self.cloud, self.stored = cloud, stored
        self.sources = evidence.Sources(
            image,
            facts.known(
                facts.volume(),
                cloud_id=OURS,
                cluster='fsid',
                marking=frozenset({facts.CINDER_POOL}),
            ),
            *(cloud, stored, 48 * HOUR, HOUR / 2),
            now=lambda: NOW,
        )
        self.in_trash, self.id_of, self.named_at, self.has_header = (
            self._patched(name, value)
            for name, value in (
                ('trash_entry', None),
                ('id_of', None),
                ('named_at', None),
                ('has_header', True),
            )
        )
        self._patched('directory', self.listed)

    def _patched(self, name: str, value: Any) -> Any:
        patch = mock.patch.object(
            objects, name, autospec=True, return_value=value
        )
        self.addCleanup(patch.stop)
        return patch.start()

    def know(self, **values: Any) -> None:
        """Change the cloud's records."""
        self.sources.known = dataclasses.replace(self.sources.known, **values)

    def trash(self, **values: Any) -> objects.Trashed:
        """Have the image in the trash, expired long ago."""
        long_ago = NOW - 99 * HOUR
        entry = objects.Trashed(
            *('volumes', NAME, 'abc', objects.TrashSource.USER),
            *(long_ago, long_ago),
        )
        entry = dataclasses.replace(entry, **values)
        self.in_trash.return_value = entry
        return entry

    def snapshot_of_live(self) -> None:
        """Have the volume of the cloud a snapshot of a deleted clone."""
        self.image.snapshots = [CLONE]
        self.rows[facts.IDENT] = dataclasses.replace(DELETED, is_deleted=False)
        self.cloud.volume.side_effect = lambda ident: (
            facts.volume() if ident == facts.IDENT else None
        )

    def item(
        self,
        kind: findings.Kind = findings.ORPHAN_VOLUME,
        name: str = NAME,
        pool: str = 'volumes',
    ) -> outcomes.Outcome:
        """Examine a leftover."""
        return removal.examine(
            self.sources, self.image, kind, pool, name, 'abc'
        )

    def result(self, *what: Any) -> str:
        """Return the code of the reason against it, or its proof."""
        try:
            return str(self.item(*what).seen['proof'])
        except outcomes.Refused as error:
            return error.reason.code

    def lock(self) -> None:
        """Have a client that is gone hold the lock."""
        self.image.lockers = {
            'tag': 'internal',
            'lockers': [('client.40', 'auto 9', 'address')],
        }
