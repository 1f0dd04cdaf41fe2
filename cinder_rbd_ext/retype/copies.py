# SPDX-License-Identifier: Apache-2.0

"""Copies of images: how they are made and verified."""

from collections.abc import Callable
import dataclasses
import functools
import json
import pathlib
import sys
from typing import Any
from typing import TypeVar

from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext.imaging import existing
from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import swap
from rbd_volume_options import bindings
from rbd_volume_options import features
from rbd_volume_options import image_arguments
from rbd_volume_options import image_configuration
from rbd_volume_options import image_handles
from rbd_volume_options import plan

# The share of the progress that the copy takes, if a comparison follows.
_COPY_SHARE = 60

_Result = TypeVar('_Result')


class Copy:
    """A copy of the image of a volume."""

    def __init__(self, images: swap.Images) -> None:
        self.images = images
        self._driver = images.driver

    def make_verified(
        self,
        volume_id: str,
        mark: marker.Marker,
        target: plan.ImageState,
        held: protocols.Lock,
    ) -> marker.Marker:
        """Make and verify a copy; return the marker that names it."""

        def report(first: int, share: int, percent: int) -> None:
            done = first + percent * share // 100
            current = dataclasses.replace(mark, percent=done)
            marker.beat(volume_id, current, held)

        # A backup that Cinder accepted at the same moment has set its status,
        # and waits for the lock.
        report(0, 0, 0)
        verify = self._driver.configuration.safe_get(opts.CONVERSION_VERIFY)
        share = _COPY_SHARE if verify else 100
        before = self.fingerprint()
        self.make(target, functools.partial(report, 0, share))
        copy_id = self.complete(target)
        if verify:
            self.compare(functools.partial(report, share, 100 - share))
        reason = self.obstacle()
        if reason or self.fingerprint() != before:
            raise swap.CopyFailed(
                reason=reason or 'The image was changed during the copy'
            )
        report(100, 0, 0)
        return marker.write(
            volume_id, dataclasses.replace(mark, copy_id=copy_id, percent=100)
        )

    def make(self, target: plan.ImageState, report: children.Report) -> None:
        """Copy the image with its snapshots, in a child process."""
        images = self.images
        command = [
            *('rbd', *self._driver._ceph_args(), 'deep', 'cp'),
            *('--rados-osd-op-timeout', str(children.PATIENCE)),
            # Ceph's handler of a crash can wait for ever for a lock of the
            # code that crashed (seen: that of localtime).
            '--fatal-signal-handlers=false',
            *('--pool', images.own_pool, '--image', images.name),
            *('--dest-pool', images.pool, '--dest', images.copy_name),
            *image_arguments.of_copy(target, images.pool),
        ]
        if images.is_moved:
            # The other back end need not be able to use the pool of a parent.
            command.append('--flatten')
        children.run(command, report)

    def compare(self, report: children.Report) -> None:
        """Compare the contents of the image and its copy, in a child process.

        :raises ChildFailed: if they differ, or if the comparison fails
        """
        copy = [self.images.pool, self.images.copy_name]
        self._read(report, copy)

    def used(self, report: children.Report) -> int:
        """Return the bytes of the objects that the copy will have."""
        return int(self._read(report))

    def _read(self, report: children.Report, *others: list[str]) -> str:
        name, conf, user, _secret = self._driver._get_config_tuple()
        settings = {
            'user': user,
            'cluster': name,
            'conf': conf,
            'timeout': children.PATIENCE,
            'images': [[self.images.own_pool, self.images.name], *others],
            'with_parent': self.images.is_moved,
        }
        program = str(pathlib.Path(__file__).with_name('image_data.py'))
        command = [sys.executable, program, json.dumps(settings)]
        return children.run(command, report)

    def complete(self, target: plan.ImageState) -> str:
        """Check everything but the contents of the copy; return its id.

        Snapshots that are protected in the source are protected, and invalid
        object maps are rebuilt. The copy in another pool does not have the
        configuration that somebody else has set.
        """

        def run(ioctx: bindings.Ioctx, other_pool: bindings.Ioctx) -> str:
            librbd, copy_name = self._driver.rbd, self.images.copy_name
            with (
                librbd.Image(ioctx, self.images.name, read_only=True) as image,
                librbd.Image(other_pool, copy_name) as copy,
            ):
                for name in [each['name'] for each in copy.list_snaps()]:
                    if image.is_protected_snap(
                        name
                    ) and not copy.is_protected_snap(name):
                        copy.protect_snap(name)
                image_handles.rebuild_object_maps(
                    copy,
                    lambda snapshot: librbd.Image(
                        other_pool, copy_name, snapshot=snapshot
                    ),
                )
                difference = image_handles.difference_of(
                    image, copy, self.images.is_moved
                )
                if difference:
                    raise swap.CopyFailed(reason=difference)
                self._check_target(other_pool, copy, target)
                if self.images.is_moved:
                    existing.reset(copy)
                    image_configuration.change(copy, target.configuration)
                return str(copy.id())

        return swap.run(
            self._driver, run, self.images.own_pool, self.images.pool
        )

    def _check_target(
        self, ioctx: bindings.Ioctx, copy: Any, target: plan.ImageState
    ) -> None:
        data_pool_id = copy.data_pool_id()
        state = image_handles.state_of(copy)
        wanted = target.image_features & features.CHOOSABLE
        own_pool = ioctx.get_pool_id()
        if (
            state.layout != target.layout
            or state.image_features & features.CHOOSABLE != wanted
            or (data_pool_id == own_pool) == bool(target.data_pool)
        ):
            raise swap.CopyFailed(
                reason=f'The copy has {state}, and not {target}'
            )
        if image_handles.has_invalid_map(copy):
            raise swap.CopyFailed(reason='The copy has an invalid object map')

    def obstacle(self) -> str | None:
        """Return why the image cannot be copied; None if it can."""
        return self._of_source(
            lambda image: image_handles.obstacle_of(image, self._driver.rbd)
        )

    def fingerprint(self) -> tuple[Any, ...]:
        """Return what shows that the image was changed."""
        return self._of_source(image_handles.fingerprint_of)

    def _of_source(self, look: Callable[[Any], _Result]) -> _Result:
        def run(ioctx: bindings.Ioctx) -> _Result:
            with self._driver.rbd.Image(
                ioctx, self.images.name, read_only=True
            ) as image:
                return look(image)

        return swap.run(self._driver, run)
