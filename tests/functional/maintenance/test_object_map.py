# SPDX-License-Identifier: Apache-2.0

"""Object maps of existing images, brought to a valid state on a cluster.

``RBD_TEST_MAPS`` sets the number of volumes; 500 take some minutes, with 20
images of Glance and 20 disks of Nova.
"""

import json
import os
import signal
import sys
import time
import uuid

import rbd

from rbd_volume_options import features
from tests import runs
from tests.functional.maintenance import object_map_case

_NUMBER = int(os.environ.get('RBD_TEST_MAPS', '12'))
#: Images of Glance and disks of Nova.
_OTHERS = max(2, _NUMBER * 20 // 500)


class EnableTest(object_map_case.ObjectMapTestCase):
    """Images get valid maps."""

    @runs.tags(runs.NIGHTLY)
    def test_many_with_guests_and_a_kill(self) -> None:
        closed = [
            self.volume(
                object_map_case.LOCKED if n % 2 else object_map_case.PLAIN
            )
            for n in range(_NUMBER)
        ]
        opened = [
            self.volume(status='in-use') for _ in range(max(3, _NUMBER // 20))
        ]
        volumes = closed + opened
        for name in volumes[::3]:
            self.snapshot(name, 'one')
            self.snapshot(name, 'two')
        guest = self.start_guest('writes', *opened)
        self.see_vanished_clients(6)
        before = {name: self.content(name) for name in volumes}
        blocked = self.blocklist()
        began = time.monotonic()
        status, _ = self.changed('enable', '--volumes', kill_at=_NUMBER // 2)
        self.assertEqual(-signal.SIGKILL, status)
        valid = [name for name in volumes if self.has_map(name)]
        self.assertLess(len(valid), len(volumes))
        status, rows = self.changed('enable', '--volumes')
        seconds = time.monotonic() - began
        self.assertEqual(0, status, self.messages)
        self.assertIn('Resuming', self.messages)
        words = [row['Status'] for row in rows.values()]
        self.assertEqual({'done', 'done earlier'}, set(words) - {'unchanged'})
        # The interrupted one, if it has no snapshot.
        self.assertLessEqual(words.count('unchanged'), 1)
        self.assertEqual(set(volumes), set(rows))
        for name in volumes:
            self.assertTrue(self.has_map(name), name)
            self.assertEqual({0}, self.flags(name), name)
        sums = guest.stop()
        self.assertEqual(set(opened), set(sums))
        for name, expected in sums.items():
            before[name][None] = expected
        after = {name: self.content(name) for name in volumes}
        self.assertEqual(before, after)
        # Only the process that was killed with a lock may be there.
        self.assertLessEqual(len(self.blocklist()), len(blocked) + 2)
        (self.folder / 'plan').unlink()
        status, rows = self.planned('enable', '--volumes')
        self.assertEqual((0, set(volumes)), (status, set(rows)))
        self.assertEqual(
            {'unchanged'}, {row['Status'] for row in rows.values()}
        )
        print(f'{len(volumes)} images: {seconds:.1f} s', file=sys.stderr)

    @runs.tags(runs.NIGHTLY)
    def test_images_of_glance_and_disks_of_nova(self) -> None:
        for _ in range(_OTHERS):
            self.images.append(str(uuid.uuid4()))
            self.make(self.images[-1], object_map_case.PLAIN, 'images')
            self.snapshot(self.images[-1], 'snap', 'images')
            self.servers.append(str(uuid.uuid4()))
            self.make(f'{self.servers[-1]}_disk', object_map_case.LOCKED)
        foreign = self.make(f'{uuid.uuid4()}_disk', object_map_case.LOCKED)
        images = [(name, 'images') for name in self.images]
        images += [(f'{ident}_disk', 'volumes') for ident in self.servers]
        before = [self.content(*each) for each in images]
        began = time.monotonic()
        status, rows = self.changed('enable', '--images', '--servers')
        seconds = time.monotonic() - began
        self.assertEqual(0, status, self.messages)
        self.assertEqual({name for name, _ in images}, set(rows))
        for each in images:
            self.assertTrue(self.has_map(*each))
            self.assertEqual({0}, self.flags(*each))
        self.assertEqual(before, [self.content(*each) for each in images])
        self.assertFalse(self.has_map(foreign))
        print(f'{len(images)} images: {seconds:.1f} s', file=sys.stderr)

    def test_deletion_looks_at_no_object_that_is_not_there(self) -> None:
        """Without a map, it looks at each of 1,024 objects."""
        numbers = []
        for enabled in (False, True):
            name = self.volume(object_map_case.PLAIN)
            with self.cluster.image(name) as image:
                image.resize(1024 << object_map_case.ORDER)
            if enabled:
                status, _ = self.changed('enable', name[7:])
                self.assertEqual(0, status, self.messages)
            before = self._messages()
            rbd.RBD().remove(self.cluster.ioctx(), name)
            numbers.append(self._messages() - before)
        without, mapped = numbers
        self.assertGreater(without, 1024)
        self.assertLess(mapped, 512)

    def _messages(self) -> int:
        """Return the number of messages that the OSD has received.

        Its number of operations does not include those that failed, such as
        the deletion of an object that does not exist.
        """
        command = json.dumps({'prefix': 'perf dump'})
        status, output, _ = self.cluster.rados.osd_command(0, command, b'')
        self.assertEqual(0, status)
        return sum(
            int(values['msgr_recv_messages'])
            for name, values in json.loads(output).items()
            if name.startswith('AsyncMessenger::Worker')
        )


@runs.tags(runs.NIGHTLY)
class OtherActionsTest(object_map_case.ObjectMapTestCase):
    """Rebuilds and the way back."""

    def test_rebuild_and_disable(self) -> None:
        name = self.volume(object_map_case.LOCKED)
        self.snapshot(name, 'one')
        with self.cluster.image(name) as image:
            image.update_features(features.to_mask(features.MAP_OFF), True)
        self.assertEqual({3}, self.flags(name))
        status, rows = self.changed('rebuild', name[7:])
        self.assertEqual(0, status, f'{self.messages} {rows}')
        self.assertEqual('rebuilt 2 maps', rows[name]['Detail'])
        self.assertEqual({0}, self.flags(name))
        self.journal.unlink()
        guest = self.start_guest('writes', name)
        status, rows = self.changed('disable', name[7:])
        self.assertEqual(0, status, self.messages)
        self.assertEqual('disabled fast-diff,object-map', rows[name]['Detail'])
        self.assertFalse(self.has_map(name))
        guest.stop()
