# SPDX-License-Identifier: Apache-2.0

import errno
from typing import Any
from unittest import mock

import ddt

from rbd_volume_options import image_handles
from tests.unit import base


class _NotFound(Exception):
    errno = errno.ENOENT


class _Librbd:
    RBD_FEATURE_MIGRATING = 1 << 9
    RBD_MIRROR_IMAGE_DISABLED = 2


@ddt.ddt
class ObstacleTest(base.TestCase):
    def _image(self, **changes: Any) -> Any:
        image = mock.Mock(
            spec=[
                'features',
                'watchers_list',
                'list_snaps',
                'group',
                'set_snap',
                'mirror_image_get_info',
                'list_children2',
                'get_parent_image_spec',
                'size',
                'overlap',
                'is_protected_snap',
            ]
        )
        image.features.return_value = 1
        image.watchers_list.return_value = []
        image.list_snaps.return_value = [{'name': 'a', 'namespace': 0}]
        image.group.return_value = {'pool': -1}
        image.mirror_image_get_info.return_value = {'state': 2}
        image.list_children2.return_value = []
        image.get_parent_image_spec.side_effect = _NotFound
        for name, value in changes.items():
            getattr(image, name).return_value = value
        return image

    @ddt.data(
        ({}, None),
        ({'features': 1 << 9}, image_handles.MIGRATING),
        ({'watchers_list': [{'id': 1}]}, image_handles.IN_USE),
        (
            {'list_snaps': [{'name': 'a', 'namespace': 1}]},
            image_handles.SNAPSHOTS,
        ),
        ({'group': {'pool': 3}}, image_handles.GROUP),
        ({'mirror_image_get_info': {'state': 1}}, image_handles.MIRRORED),
        ({'list_children2': [{'image': 'clone'}]}, image_handles.CLONES),
    )
    @ddt.unpack
    def test_each_obstacle_has_its_reason(
        self, changes: dict[str, Any], reason: str | None
    ) -> None:
        image = self._image(**changes)
        self.assertEqual(reason, image_handles.obstacle_of(image, _Librbd))

    @ddt.data(
        # A clone that was flattened without deep-flatten: the snapshot only.
        (['parent', _NotFound], image_handles.LOST_PARENT),
        (['parent', 'parent'], None),
    )
    @ddt.unpack
    def test_flattened_clone_whose_snapshot_is_none_is_not_copied(
        self, parents: list[Any], reason: str | None
    ) -> None:
        image = self._image()
        image.get_parent_image_spec.side_effect = parents
        self.assertEqual(reason, image_handles.obstacle_of(image, _Librbd))


class AtTest(base.TestCase):
    def test_image_is_at_its_head_again_also_after_a_failure(self) -> None:
        image: Any = mock.Mock(spec=['set_snap'])

        def fail() -> None:
            with image_handles.at(image, 'a'):
                image.set_snap.assert_called_once_with('a')
                raise ValueError

        self.assertRaises(ValueError, fail)
        image.set_snap.assert_called_with(None)

    def test_without_a_snapshot_the_image_stays_at_its_head(self) -> None:
        image: Any = mock.Mock(spec=['set_snap'])
        with image_handles.at(image, None):
            pass
        image.set_snap.assert_not_called()


@ddt.ddt
class ClientTest(base.TestCase):
    """A mirrored image has a watch of rbd-mirror, which is no client."""

    @ddt.data(
        # Watches, mirrored, own lock, owners of the lock, clients.
        (0, False, False, 0, []),
        (1, False, False, 0, ['watch']),
        (1, True, False, 0, []),
        (1, True, False, 1, ['lock']),
        (1, True, True, 1, []),
    )
    @ddt.unpack
    def test_lock_tells_the_clients_of_a_mirrored_image(
        self,
        watches: int,
        mirrored: bool,
        own: bool,
        owners: int,
        clients: list[str],
    ) -> None:
        image = mock.Mock(
            spec=[
                'watchers_list',
                'mirror_image_get_info',
                'is_exclusive_lock_owner',
                'list_lockers',
            ]
        )
        image.watchers_list.return_value = [{'addr': 'watch'}] * watches
        image.mirror_image_get_info.return_value = {'state': 2 - mirrored}
        image.is_exclusive_lock_owner.return_value = own
        locks = {'lockers': [('client.1', 'auto 1', 'lock')]}
        image.list_lockers.return_value = locks if owners else []
        self.assertEqual(clients, image_handles.clients_of(image, _Librbd))
