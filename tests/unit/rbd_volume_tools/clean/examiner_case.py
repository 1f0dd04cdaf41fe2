# SPDX-License-Identifier: Apache-2.0

"""An examiner of leftovers, with as much of librbd as it calls.

The functional test of clean examines and removes things on a cluster; this is
for states that are hard to plant.
"""

import datetime
from typing import Any
from unittest import mock

from rbd_volume_options import wire
from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import reading
from rbd_volume_tools.clean import examination
from tests import feature_bits
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.fleet import stubs

NAME = f'volume-{facts.IDENT}'
HOUR = datetime.timedelta(hours=1)


class Orphan:
    """An image of two hours ago, which is also the module and the cluster."""

    RBD_MIRROR_IMAGE_DISABLED = 2
    RBD_SNAP_NAMESPACE_TYPE_USER = 0
    RBD_FEATURE_MIGRATING = feature_bits.MIGRATING

    def __init__(self) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        self.created = (now - 2 * HOUR).replace(tzinfo=None)
        self.accessed = self.created
        self.mirror_state = self.RBD_MIRROR_IMAGE_DISABLED
        self.ident = 'abc'
        self.moved: list[tuple[str, int]] = []
        self.snapshots: list[str] = []
        self.namespaces: dict[str, int] = {}
        self.librbd = self.librados = self
        self.fault = ''

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

    def watchers_list(self) -> list[Any]:
        return []

    list_lockers = metadata_list = list_children2 = watchers_list

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

    def set_snap_by_id(self, ident: int) -> None:
        pass

    def set_snap(self, name: None) -> None:
        pass

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

    def size(self) -> int:
        return 2**30

    def features(self) -> int:
        return feature_bits.DEFAULT

    def group(self) -> dict[str, str]:
        return {'name': ''}

    def mirror_image_get_info(self) -> dict[str, int]:
        return {'state': self.mirror_state}

    def id(self) -> str:
        return self.ident

    def get_pool_id(self) -> int:
        return 1

    def trash_move(self, ioctx: Any, name: str, delay: int) -> None:
        self.moved.append((name, delay))


class ExaminerTestCase(base.TestCase):
    """An orphan of two hours ago, and its examiner."""

    def setUp(self) -> None:
        super().setUp()
        self.image: Any = Orphan()
        self.proofs = mock.create_autospec(evidence.Evidence, instance=True)
        self.proofs.proof.return_value = evidence.Proof('a proof')
        self.proofs.volume.return_value = facts.volume()
        patch = mock.patch.object(
            objects, 'trash_entry', autospec=True, return_value=None
        )
        self.in_trash = patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            objects, 'directory', autospec=True, return_value={}
        )
        self.directory = patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            objects, 'id_of', autospec=True, return_value=None
        )
        self.id_of = patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            objects, 'named_at', autospec=True, return_value=None
        )
        self.named_at = patch.start()
        self.addCleanup(patch.stop)
        cluster: Any = self.image
        self.examiner = examination.Examiner(
            cluster, self.proofs, examination.Rules(48 * HOUR, HOUR)
        )

    def item(self) -> examination.Item:
        """Examine the orphan."""
        return self.examiner.examine(
            *(self.image, findings.ORPHAN_VOLUME, 'volumes', NAME, 'abc')
        )

    def snapshot(self) -> examination.Item:
        """Examine the snapshot of a deleted clone of a volume."""
        name = f'volume-{facts.OTHER}{wire.CLONE_SNAPSHOT}'
        self.image.snapshots = [name]
        self.proofs.proof_of_snapshot.return_value = evidence.Proof('a proof')
        return self.examiner.examine(
            *(self.image, findings.CLONE_SNAPSHOT, 'volumes'),
            *(f'{NAME}@{name}', 'abc'),
        )

    def lock(self) -> None:
        """Have a client that is gone hold the lock."""
        self.image.list_lockers = lambda: {
            'tag': 'internal',
            'lockers': [('client.40', 'auto 9', 'address')],
        }
