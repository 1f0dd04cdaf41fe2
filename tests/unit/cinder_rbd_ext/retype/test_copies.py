# SPDX-License-Identifier: Apache-2.0

from unittest import mock

import ddt

from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import marker
from rbd_volume_options import layout
from rbd_volume_options import options
from tests.unit import base
from tests.unit.cinder_rbd_ext import base as driver_base

_TARGET = options.image_values(
    layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8)),
    frozenset({'layering', 'striping'}),
)


class CopyTest(base.TestCase):
    """The command that copies an image."""

    def _command(self, target: options.Values, moved: bool) -> list[str]:
        driver = mock.Mock(spec=['_ceph_args'])
        driver._ceph_args.return_value = ['--id', 'cinder']
        mark = marker.Marker(
            'uuid',
            'host',
            'process',
            former_pool='volumes',
            pool='volumes2' if moved else 'volumes',
        )
        copy = copies.Copy(driver, 'volume-1', mark)
        if not moved:
            copy.__dict__['is_flat'] = False
        with mock.patch.object(children, 'run', autospec=True) as run:
            copy.make(target, lambda percent: None)
        command: list[str] = run.call_args.args[0]
        return command

    def _value(self, command: list[str], name: str) -> str:
        return command[command.index(name) + 1]

    def test_copy_gets_the_layout_in_bytes(self) -> None:
        command = self._command(_TARGET, moved=False)
        self.assertEqual(['rbd', '--id', 'cinder', 'deep', 'cp'], command[:5])
        self.assertEqual('1048576B', self._value(command, '--object-size'))
        self.assertEqual('65536B', self._value(command, '--stripe-unit'))
        self.assertEqual('8', self._value(command, '--stripe-count'))
        self.assertEqual('layering', self._value(command, '--image-feature'))
        self.assertNotIn('striping', command)

    def test_copy_without_a_data_pool_names_its_own_pool(self) -> None:
        """librbd would use the default data pool of its configuration."""
        command = self._command(_TARGET, moved=False)
        self.assertEqual('volumes', self._value(command, '--data-pool'))
        self.assertNotIn('--flatten', command)

    def test_copy_in_another_pool_has_no_parent(self) -> None:
        command = self._command(_TARGET, moved=True)
        self.assertEqual('volumes2', self._value(command, '--dest-pool'))
        self.assertIn('--flatten', command)


@ddt.ddt
class FlatCopyTest(driver_base.DriverTestCase):
    """Copies that do not depend on the parent of their image."""

    def _is_flat(self, name: str) -> bool:
        mark = marker.Marker(
            'uuid', 'host', 'process', former_pool='volumes', pool='volumes'
        )
        return copies.Copy(self.driver, name, mark).is_flat

    def test_copy_of_a_clone_of_a_volume_is_flat(self) -> None:
        """The stock driver releases a source by the name of its clone."""
        source = self.made_volume()
        clone = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)
        self.assertTrue(self._is_flat(clone.name))
        self.assertFalse(self._is_flat(source.name))

    @ddt.data(False, True)
    def test_copy_of_a_restored_snapshot_is_flat_if_it_was_deleted(
        self, is_deleted: bool
    ) -> None:
        source = self.made_volume()
        snapshot = self.new_snapshot(source)
        volume = self.new_volume(snapshot_id=snapshot.id)
        self.driver.create_volume_from_snapshot(volume, snapshot)
        if is_deleted:
            self.driver.delete_snapshot(snapshot)
        self.assertIs(is_deleted, self._is_flat(volume.name))
