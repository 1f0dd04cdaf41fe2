# SPDX-License-Identifier: Apache-2.0

"""Copies of images: how they are made and verified."""

from collections.abc import Callable
import contextlib
import functools
import json
import pathlib
import sys
from typing import Any
from typing import TypeVar

from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext.imaging import open_image
from cinder_rbd_ext.retype import children
from cinder_rbd_ext.retype import commit
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.trash import entries
from rbd_volume_options import bindings
from rbd_volume_options import features
from rbd_volume_options import image_arguments
from rbd_volume_options import image_configuration
from rbd_volume_options import image_handles
from rbd_volume_options import options
from rbd_volume_options import ownership

# The share of the progress that the copy takes, if a comparison follows.
_COPY_SHARE = 60

_Result = TypeVar('_Result')


class Copy:
    """A copy of the image of a volume, as its marker names both.

    :ivar is_flat: whether the copy has no parent. The other back end of a
        migration need not be able to use the pool of a parent. The stock
        driver releases the snapshot of a source only by the name of the clone,
        which the copy does not have. A parent in librbd's trash cannot be
        copied.
    """

    def __init__(
        self, driver: protocols.Driver, name: str, mark: marker.Marker
    ) -> None:
        self._driver = driver
        self._source = name
        self._source_pool = mark.former_pool
        self.name = mark.name
        self.pool = mark.pool
        self._is_moved = mark.pool != mark.former_pool

    @functools.cached_property
    def is_flat(self) -> bool:
        return self._is_moved or any(
            map(self._is_temporary, self._of_source(self._parents_of))
        )

    def _parents_of(self, image: bindings.Image) -> set[tuple[str, str, str]]:
        """Return pool, image and snapshot of the parents of all states."""
        parents = set()
        with image_handles.at_each(image) as states:
            for _ in states:
                with contextlib.suppress(self._driver.rbd.ImageNotFound):
                    parents.add(image.parent_info())
        return parents

    def _is_temporary(self, parent: tuple[str, str, str]) -> bool:
        pool, name, snapshot = parent
        if snapshot.endswith(image_handles.CLONE_SNAPSHOT):
            return True
        try:
            with self._driver.images.opened(
                name, pool=pool, read_only=True
            ) as image:
                return snapshot not in image_handles.snapshot_names(image)
        except self._driver.rbd.ImageNotFound:
            return True

    def make_verified(
        self, target: options.Values, report: children.Report
    ) -> str:
        """Make and verify a copy; return its id.

        :param report: receives the progress; an exception ends the copy
        """

        # A backup that Cinder accepted at the same moment has set its status,
        # and waits for the lock.
        report(0)
        verify = self._driver.configuration.safe_get(opts.CONVERSION_VERIFY)
        share = _COPY_SHARE if verify else 100
        before = self.fingerprint()
        self.make(target, lambda percent: report(percent * share // 100))
        copy_id = self.complete(target)
        if verify:
            rest = 100 - share
            self.compare(lambda percent: report(share + percent * rest // 100))
        reason = self.obstacle()
        if reason or self.fingerprint() != before:
            raise commit.CopyFailed(
                reason=reason or 'The image was changed during the copy'
            )
        report(100)
        return copy_id

    def make(self, target: options.Values, report: children.Report) -> None:
        """Copy the image with its snapshots, in a child process."""
        command = [
            *('rbd', *self._driver._ceph_args(), 'deep', 'cp'),
            *('--rados-osd-op-timeout', str(children.PATIENCE)),
            # Ceph's handler of a crash can wait for ever for a lock of the
            # code that crashed (seen: that of localtime).
            '--fatal-signal-handlers=false',
            *('--pool', self._source_pool, '--image', self._source),
            *('--dest-pool', self.pool, '--dest', self.name),
            *image_arguments.copy_arguments(target, self.pool),
        ]
        if self.is_flat:
            command.append('--flatten')
        children.run(command, report)

    def compare(self, report: children.Report) -> None:
        """Compare the contents of the image and its copy, in a child process.

        :raises ChildFailed: if they differ, or if the comparison fails
        """
        self._read(report, [self.pool, self.name])

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
            'images': [[self._source_pool, self._source], *others],
            'with_parent': self.is_flat,
        }
        program = str(pathlib.Path(__file__).with_name('image_data.py'))
        command = [sys.executable, program, json.dumps(settings)]
        return children.run(command, report)

    def complete(self, target: options.Values) -> str:
        """Check everything but the contents of the copy; return its id.

        Snapshots that are protected in the source are protected, and invalid
        object maps are rebuilt. The copy in another pool does not have the
        configuration that somebody else has set.
        """

        def check(ioctx: bindings.Ioctx, other_pool: bindings.Ioctx) -> str:
            librbd, copy_name = self._driver.rbd, self.name
            with (
                librbd.Image(ioctx, self._source, read_only=True) as image,
                librbd.Image(other_pool, copy_name) as copy,
            ):
                for name in image_handles.snapshot_names(copy):
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
                    image, copy, self.is_flat
                )
                if difference:
                    raise commit.CopyFailed(reason=difference)
                self._check_target(other_pool, copy, target)
                if self._is_moved:
                    open_image.reset(copy)
                    image_configuration.change(copy, target.configuration)
                return str(copy.id())

        return entries.in_pool(
            self._driver, check, self._source_pool, self.pool
        )

    def _check_target(
        self, ioctx: bindings.Ioctx, copy: Any, target: options.Values
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
            raise commit.CopyFailed(
                reason=f'The copy has {state}, and not {target}'
            )
        if image_handles.has_invalid_map(copy):
            raise commit.CopyFailed(
                reason='The copy has an invalid object map'
            )

    def obstacle(self) -> str | None:
        """Return why the image cannot be copied; None if it can."""
        return self._of_source(
            lambda image: image_handles.obstacle_of(image, self._driver.rbd)
        )

    def fingerprint(self) -> tuple[Any, ...]:
        """Return what shows that the image was changed."""
        return self._of_source(image_handles.fingerprint_of)

    def _of_source(self, look: Callable[[Any], _Result]) -> _Result:
        def read(ioctx: bindings.Ioctx) -> _Result:
            with self._driver.rbd.Image(
                ioctx, self._source, read_only=True
            ) as image:
                return look(image)

        return entries.in_pool(self._driver, read, self._source_pool)


def image_id(driver: protocols.Driver, name: str, pool: str) -> str | None:
    """Return librbd's id of an image; None if it does not exist."""
    return entries.in_pool(
        driver, lambda ioctx: ownership.id_of(ioctx, name), pool
    )
