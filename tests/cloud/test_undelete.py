# SPDX-License-Identifier: Apache-2.0

"""Deleted volumes, restored for their project."""

import json
import subprocess
from typing import Any

import rados
import rbd

from tests.cloud import base
from tests.cloud import documented

_CONTENT = b'precious'


class UndeleteTest(base.CloudTestCase):
    """``cinder-rbd-ext fleet undelete``."""

    def undelete(self, *words: str, status: int) -> dict[str, Any]:
        """Run the command as the operator; return its rows by volume."""
        environ = 'eval "$(tools/sandbox env --cloud admin)"'
        command = f'cinder-rbd-ext fleet undelete {" ".join(words)}'
        done = subprocess.run(
            [
                'bash',
                '-euc',
                f'{environ}; {command} --ceph-user admin -f json',
            ],
            cwd=documented.ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        self.assertEqual(status, done.returncode, done.stderr + done.stdout)
        return {row['Volume']: row for row in json.loads(done.stdout)}

    def data(self, volume: str, written: bytes = b'') -> bytes:
        """Write data to the image of a volume, and read it."""
        with (
            rados.Rados(conffile='', rados_id='admin') as client,
            client.open_ioctx('volumes') as ioctx,
            rbd.Image(ioctx, self.image_name(volume)) as image,
        ):
            if written:
                image.write(written, 2**20)
            return bytes(image.read(2**20, len(_CONTENT)))

    def test_deleted_volume_is_back_in_its_project(self) -> None:
        kept = self.make_type(rbd_keep_deleted='24', rbd_object_size='1M')
        volume = self.created(
            volume_type=kept, name='data', metadata={'colour': 'blue'}
        )
        before = self.show(volume)
        self.data(volume, _CONTENT)
        self.remove(volume)
        rows = self.undelete(status=0)
        self.assertEqual('data', rows[volume]['Name'])
        identity = self.operator.identity
        who = (
            before['os-vol-tenant-attr:tenant_id'],
            self.operator.current_user_id,
            identity.find_role('admin').id,
        )
        identity.assign_project_role_to_user(*who)
        self.addCleanup(identity.unassign_project_role_from_user, *who)
        rows = self.undelete(volume, status=0)
        restored = rows[volume]['Result'].removeprefix('restored as ')
        api = self.operator.block_storage
        (type_id,) = (x.id for x in api.types() if x.name == kept)
        path = f'/types/{type_id}/extra_specs/rbd:keep_deleted'
        self.addCleanup(self.remove, restored)
        self.addCleanup(api.delete, path)
        after = self.show(restored)
        for name in (
            *('name', 'metadata', 'volume_type', 'size', 'bootable'),
            'os-vol-tenant-attr:tenant_id',
        ):
            self.assertEqual(before[name], after[name], name)
        self.assertEqual(_CONTENT, self.data(restored))
        self.assertEqual(2**20, self.info(restored)['object_size'])
        rows = self.undelete(volume, status=1)
        self.assertIn('no pool has it', rows[volume]['Result'])
