#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Conversions that are complete although their process was killed."""

import contextlib
import json
import pathlib
import subprocess
import sys
import time
from typing import Any

from cinder import objects
import ddt
import fixtures
import rbd

from cinder_rbd_ext.conversion import conversions
from cinder_rbd_ext.conversion import marker
from rbd_volume_options import keys
from tests.functional.cinder_rbd_ext import test_conversion

_PROGRAM = pathlib.Path(__file__).with_name('converting.py')
# Seconds until the OSD removes the watch of a killed client; 30 by default.
_FORGOTTEN = 3
_ATTEMPTS = 20


@ddt.ddt
class KilledTest(test_conversion.ConversionTestCase):
    def setUp(self) -> None:
        super().setUp()
        self._osd('set', str(_FORGOTTEN))
        self.addCleanup(self._osd, 'set', '30')
        self.useFixture(
            fixtures.MockPatchObject(conversions, '_PAUSE', new=0.5)
        )
        self.type_id = self.make_type(
            **{
                keys.STRIPE_UNIT: '64K',
                keys.STRIPE_COUNT: '8',
                keys.OBJECT_MAP: 'true',
            }
        )
        self.there = self._objects()
        self.volume = self.filled_volume()
        self.driver.host = self.volume.host
        self.before = self.sums(self.volume)

    def _objects(self) -> set[str]:
        """Return the headers and names of images.

        The OSD removes data with snapshots some time after its deletion.
        """
        return {
            each.key
            for each in self.cluster.ioctx().list_objects()
            if each.key.startswith(('rbd_header.', 'rbd_id.'))
        }

    def _osd(self, *words: str) -> None:
        prefix = ('config', words[0], 'osd_client_watch_timeout')
        command = {
            'prefix': ' '.join(prefix[:2]),
            'var': prefix[2],
            'val': list(words[1:]),
        }
        found = self.cluster.rados.osd_command(0, json.dumps(command), b'')
        self.assertEqual(0, found[0], found)

    def _begin(self) -> None:
        """Act as the driver before the first change of the image."""
        self.update(
            self.volume,
            {'status': 'retyping', 'previous_status': 'available'},
        )
        with self.cluster.image(self.volume.name, read_only=True) as image:
            found = marker.Marker(self.type_id, image.id())
        marker.begin(self.volume.id, found)
        self.source_id = found.source_id

    def _killed_after(self, last: str) -> None:
        """Convert the image in a process that is killed after a line."""
        with subprocess.Popen(
            [sys.executable, _PROGRAM, self.cluster.conf, self.volume.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            written: Any = process.stdin
            read: Any = process.stdout
            for line in read:
                if line.strip() == last:
                    break
                if line.strip() in ('prepared', 'executed'):
                    written.write('\n')
                    written.flush()
            process.kill()
            # The process has ended.
            with contextlib.suppress(BrokenPipeError):
                written.close()

    def _resumed(self) -> Any:
        """Resume as often as the service does; return the volume.

        An attempt fails while the OSD has a lock of the killed client.
        """
        for _attempt in range(_ATTEMPTS):
            self.driver._recovery.resume_all()
            volume = objects.Volume.get_by_id(self.admin, self.volume.id)
            if volume.status == 'available':
                break
            time.sleep(1)
        return volume

    def _check_completed(self) -> None:
        volume = self._resumed()
        self.assertEqual('available', volume.status)
        self.assertEqual(self.type_id, volume.volume_type_id)
        for each in volume.snapshots:
            self.assertEqual(self.type_id, each.volume_type_id)
        self.check_converted(volume, self.before)
        self.assertIsNone(marker.read(self.recorded(volume)))
        headers = [
            each.key
            for each in self.cluster.ioctx().list_objects()
            if each.key == f'rbd_header.{self.source_id}'
        ]
        self.assertEqual([], headers)

    @ddt.data('prepare', '25', 'commit')
    def test_killed(self, last: str) -> None:
        self._begin()
        self._killed_after(last)
        self._check_completed()

    def _check_deleted(self) -> None:
        """Delete the volume with its snapshots, as a forced deletion does."""
        self.update(self.volume, {'status': 'deleting'})
        self.volume = objects.Volume.get_by_id(self.admin, self.volume.id)
        for each in list(self.volume.snapshots):
            self.driver.delete_snapshot(each)
        self.driver.delete_volume(self.volume)
        self.assertEqual(set(), self._objects() - self.there)
        self.assertEqual([], self.trash())

    @ddt.data('prepared', '25', 'executed', 'commit')
    def test_killed_and_deleted(self, last: str) -> None:
        self._begin()
        self._killed_after(last)
        self._check_deleted()

    def test_killed_before_the_record_and_deleted(self) -> None:
        """The image is in the trash, and no image has its name."""
        self._begin()
        rbd.RBD().trash_move(self.cluster.ioctx(), self.volume.name)
        self._check_deleted()

    def test_killed_between_the_images_of_a_commit(self) -> None:
        """librbd does not remove the former image in this case."""
        self._begin()
        self._killed_after('executed')
        ioctx = self.cluster.ioctx()
        status = rbd.RBD().migration_status(ioctx, self.volume.name)
        self.assertEqual(self.source_id, status['source_image_id'])
        header = f'rbd_header.{status["dest_image_id"]}'
        ioctx.execute(header, 'rbd', 'migration_remove', b'')
        self._check_completed()

    def test_killed_before_librbd_recorded_the_migration(self) -> None:
        """The image is in the trash, and no image has its name."""
        self._begin()
        rbd.RBD().trash_move(self.cluster.ioctx(), self.volume.name)
        self.assertEqual([], self.cluster.names())
        self._check_completed()

    def test_killed_before_cinder_saved_the_type(self) -> None:
        self._begin()
        new_type = objects.VolumeType.get_by_id(self.admin, self.type_id)
        with self.volume.obj_as_admin():
            self.driver.retype(self.context, self.volume, new_type, {}, None)
        # The killed service had this in its memory.
        self.driver._conversions.ended.clear()
        self._check_completed()
