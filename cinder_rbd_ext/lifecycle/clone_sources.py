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

"""What clones leave on the images that they were made from.

The stock driver makes a clone from a snapshot of the source that it takes
for it, ``<clone>.clone_snap``, and renames a source that is deleted before
its clones to ``<source>.deleted``. Both go here as soon as nothing needs
them. What librbd says of a snapshot's children decides, those in the trash
included; a snapshot that has one is never touched.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any

from oslo_concurrency import lockutils
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: What stock appends to a clone's name for the snapshot of its source.
SNAPSHOT = '.clone_snap'

#: What stock appends to the name of a source that it keeps for its clones.
DELETED = '.deleted'

# librbd's namespace of snapshots that are opened by name; others are those
# of groups, and those that were removed while they had clones.
_BY_NAME = 0


@dataclasses.dataclass(frozen=True)
class Reference:
    """A clone's snapshot on its source.

    :ivar source: the source's name, as it was before its deletion
    :ivar snapshot: the snapshot's name
    """

    source: str
    snapshot: str


class CloneSources:
    """The sources of clones in one pool.

    :param librbd: the module
    :param pool: the pool's name
    :param opened: opens an image of the pool by its name
    :param remove: removes an image of the pool
    :param under_way: whether the making of an image is under way
    """

    def __init__(
        self,
        librbd: Any,
        pool: str,
        opened: Callable[[str], contextlib.AbstractContextManager[Any]],
        remove: Callable[[str], None],
        under_way: Callable[[str], bool],
    ) -> None:
        self._librbd = librbd
        self._pool = pool
        self._opened = opened
        self._remove = remove
        self._under_way = under_way

    def reference_of(self, image: Any) -> Reference | None:
        """Return the snapshot that an image was cloned from by stock.

        None for an image that is no clone of a volume, and for a parent in
        another pool. A clone that was flattened may have snapshots that
        depend on the source still.
        """
        for snapshot in (None, *_names(image)):
            with _at(image, snapshot):
                try:
                    parent_pool, source, name = image.parent_info()
                except self._librbd.ImageNotFound:
                    continue
            if parent_pool != self._pool or not name.endswith(SNAPSHOT):
                return None
            return Reference(source.removesuffix(DELETED), name)
        return None

    def drop_unneeded(self, image: Any) -> None:
        """Remove the snapshots for clones that have none.

        For a source that is being deleted or was: nobody can clone it.
        """
        for name in _names(image):
            clone = name.removesuffix(SNAPSHOT)
            if name != clone and not self._under_way(clone):
                self._drop(image, name)

    def release(self, reference: Reference) -> None:
        """Remove a clone's snapshot, and the sources that it kept."""
        try:
            with self._opened(reference.source) as image:
                if reference.snapshot in _names(image):
                    self._drop(image, reference.snapshot)
        except self._librbd.ImageNotFound:
            LOG.debug('Source %s is not there', reference.source)
        # Looked for in either case: it may have been renamed meanwhile.
        self.settle(reference.source + DELETED)

    def settle(self, name: str) -> None:
        """Remove a source that was deleted, once no clone needs it.

        If it is a clone itself, its own source is released.
        """
        try:
            with lockutils.lock(name, 'rbd-clone-source-'):
                with self._opened(name) as image:
                    above = self.reference_of(image)
                    self.drop_unneeded(image)
                    if list(image.list_snaps()):
                        return
                LOG.info('Removing %s, which no clone needs any more', name)
                self._remove(name)
        except self._librbd.ImageNotFound:
            return
        if above:
            self.release(above)

    def _drop(self, image: Any, name: str) -> None:
        with _at(image, name):
            if list(image.list_children2()):
                return
        try:
            if image.is_protected_snap(name):
                image.unprotect_snap(name)
            image.remove_snap(name)
        except (self._librbd.ImageBusy, self._librbd.ImageNotFound) as error:
            # A clone or a removal at this very moment.
            LOG.debug('Snapshot %s stays: %s', name, error)
        else:
            LOG.info('Removed snapshot %s, which had no clone', name)


def _names(image: Any) -> list[str]:
    return [
        snapshot['name']
        for snapshot in image.list_snaps()
        if snapshot.get('namespace', _BY_NAME) == _BY_NAME
    ]


@contextlib.contextmanager
def _at(image: Any, snapshot: str | None) -> Iterator[None]:
    """Look at an image at a snapshot, or at its head."""
    if snapshot is None:
        yield
        return
    image.set_snap(snapshot)
    try:
        yield
    finally:
        image.set_snap(None)
