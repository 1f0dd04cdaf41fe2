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
from rbd_volume_options import ownership
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import records
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes
from tests import feature_bits
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.fleet import stubs

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
    """An image of two hours ago, which is also the module and the cluster."""

    RBD_MIRROR_IMAGE_DISABLED = 2
    RBD_SNAP_NAMESPACE_TYPE_USER = 0
    RBD_FEATURE_MIGRATING = feature_bits.MIGRATING

    def __init__(self) -> None:
        self.created = (NOW - 2 * HOUR).replace(tzinfo=None)
        self.accessed = self.created
        self.mirror_state = self.RBD_MIRROR_IMAGE_DISABLED
        self.ident = 'abc'
        self.mark = OURS
        self.moved: list[tuple[str, int]] = []
        self.snapshots: list[str] = []
        self.namespaces: dict[str, int] = {}
        self.librbd = self.librados = self
        self.fault = ''

    _answers: dict[str, Any] = {
        **dict.fromkeys(('watchers_list', 'list_lockers'), ()),
        'list_children2': (),
        **dict.fromkeys(('set_snap_by_id', 'set_snap')),
        'size': 2**30,
        'features': feature_bits.DEFAULT,
        'group': {'name': ''},
        'get_pool_id': 1,
    }

    def __getattr__(self, name: str) -> Any:
        if name not in self._answers:
            raise AttributeError(name)
        answer = self._answers[name]
        return lambda *args: answer

    def Image(self, ioctx: Any, name: str = '', **kwargs: Any) -> Any:
        return self

    def require_harmless(self, pool: str, name: str, ident: str = '') -> None:
        """Check the image, which is harmless unless it is :ivar:`fault`."""
        if self.fault:
            raise reading.NotRead(self.fault)

    def RBD(self) -> 'Orphan':
        return self

    def __enter__(self) -> 'Orphan':
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def metadata_list(self) -> list[tuple[str, str]]:
        if not self.mark:
            return []
        return [(ownership.KEY, ownership.mark(self.mark, 1, 'abc'))]

    def list_snaps(self) -> list[dict[str, Any]]:
        return [
            {
                'id': name,
                'name': name,
                'size': 2**30,
                'namespace': self.namespaces.get(name, 0),
            }
            for name in self.snapshots
        ]

    def get_snap_timestamp(self, ident: int) -> datetime.datetime:
        return self.created

    def is_protected_snap(self, name: str) -> bool:
        """Answer about the snapshots of users only."""
        if self.namespaces.get(name):
            raise stubs.ImageNotFound(name)
        return False

    def remove_snap_by_id(self, ident: str) -> None:
        self.snapshots.remove(ident)

    def trash_remove(self, ioctx: Any, ident: str, force: bool) -> None:
        self.purged = ident

    def create_timestamp(self) -> datetime.datetime:
        return self.created

    modify_timestamp = create_timestamp

    def access_timestamp(self) -> datetime.datetime:
        return self.accessed

    def mirror_image_get_info(self) -> dict[str, int]:
        return {'state': self.mirror_state}

    def id(self) -> str:
        return self.ident

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
    ) -> removal.Item:
        """Examine a leftover."""
        return removal.examine(
            self.sources, self.image, kind, pool, name, 'abc'
        )

    def result(self, *what: Any) -> str:
        """Return the code of the reason against it, or its proof."""
        try:
            return self.item(*what).proof
        except outcomes.Refused as error:
            return error.reason.code

    def lock(self) -> None:
        """Have a client that is gone hold the lock."""
        self.image.list_lockers = lambda: {
            'tag': 'internal',
            'lockers': [('client.40', 'auto 9', 'address')],
        }
