# SPDX-License-Identifier: Apache-2.0

from unittest import mock

from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import copies
from cinder_rbd_ext.retype import swap
from rbd_volume_options import layout
from rbd_volume_options import plan
from tests.unit import base

_TARGET = plan.ImageState(
    layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8)),
    frozenset({'layering', 'striping'}),
)


class CopyTest(base.TestCase):
    """The command that copies an image."""

    def _command(self, target: plan.ImageState, moved: bool) -> list[str]:
        images = mock.create_autospec(swap.Images, instance=True)
        images.driver = mock.Mock(spec=['_ceph_args'])
        images.driver._ceph_args.return_value = ['--id', 'cinder']
        images.name, images.copy_name = 'volume-1', 'volume-1.retype-2'
        images.own_pool = 'volumes'
        images.pool = 'volumes2' if moved else 'volumes'
        images.is_moved = moved
        with mock.patch.object(children, 'run', autospec=True) as run:
            copies.Copy(images).make(target, lambda percent: None)
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
