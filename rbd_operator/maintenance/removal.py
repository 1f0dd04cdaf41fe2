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

"""Removes leftovers that the audit finds."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import datetime
from typing import Any

from rbd_operator.audit import findings
from rbd_operator.audit import images
from rbd_operator.audit import names
from rbd_operator.maintenance import kinds
from rbd_operator.maintenance import migrations
from rbd_operator.maintenance import outcomes
from rbd_operator.maintenance import use

IN_USE = outcomes.Reason(
    'in-use',
    'a client has the image open',
    'Find the client: rbd status <image>.',
)
CHILDREN = outcomes.Reason(
    'children',
    'clones depend on it',
    'Flatten or delete the clones first: rbd children --all <image>.',
)
TOO_YOUNG = outcomes.Reason(
    'too-young',
    'it may belong to an operation that has not ended',
    'Run the command again later, or with a smaller --older-than.',
)
RECORDED = outcomes.Reason(
    'recorded',
    'the cloud has a record of its owner',
    'Run the audit again.',
)
MIRRORED = outcomes.Reason(
    'mirrored',
    'the image is mirrored',
    'Check the cluster that it is mirrored with; disable its mirroring.',
)
IN_GROUP = outcomes.Reason(
    'in-group',
    'the image is in a group',
    'Remove it from the group: rbd group image remove.',
)
NOT_A_REST = outcomes.Reason(
    'not-a-rest',
    'objects of the image are still there',
    'Find out why the image cannot be opened.',
)
DEFERRED = outcomes.Reason(
    'deferred',
    'its deferment has not ended, or it was restored',
    'Run the command again later.',
)

#: Kinds of owners that the APIs of the cloud list.
_RECORDED = frozenset(
    {
        names.Owner.VOLUME,
        names.Owner.GLANCE_IMAGE,
        names.Owner.SERVER_DISK,
        names.Owner.BACKUP,
    }
)

#: Called with the kind of an owner and its ID.
HasRecord = Callable[[names.Owner, str], bool]


@dataclasses.dataclass(frozen=True)
class Rules:
    """Limits of removals.

    :ivar delay: time for which images stay in the trash
    :ivar older_than: minimum age of an image or a snapshot
    """

    delay: datetime.timedelta
    older_than: datetime.timedelta


@dataclasses.dataclass(frozen=True)
class Removal:
    """The removal of a finding.

    :ivar outcome: the image and the planned removal
    :ivar has_record: returns whether the cloud has a resource at this moment
    """

    outcome: outcomes.Outcome
    kind: findings.Kind
    librados: Any
    librbd: Any
    rules: Rules
    has_record: HasRecord

    @property
    def size(self) -> int:
        """Return 0: a removal reads no data of the image."""
        return 0

    def apply(self, connection: Any, ioctx: Any, ours: frozenset[str]) -> str:
        """Examine the leftover again, remove it and describe the removal.

        :raises Refused: if the leftover is in use, required or too young
        """
        name = self.outcome.image
        self._check_no_record(name)
        way = kinds.WAYS[self.kind]
        if way is kinds.Way.TRASH:
            return self._to_trash(ioctx, name, ours)
        if way is kinds.Way.PURGE:
            return self._purge(ioctx, self.outcome.ident, ours)
        if way is kinds.Way.SNAPSHOT:
            return self._snapshot(ioctx, name, ours)
        return self._name(connection, ioctx, name)

    def _check_no_record(self, about: str) -> None:
        """Check that the cloud has no record of the owner at this moment.

        Much time may have passed since the audit, and a list from an API may
        be incomplete.

        :raises Refused: if the cloud has a record
        """
        image, _, snapshot = about.partition('@')
        name = (
            names.of_snapshot(snapshot) if snapshot else names.of_image(image)
        )
        if name.owner in _RECORDED and self.has_record(name.owner, name.ident):
            raise outcomes.Refused(
                RECORDED, f'{name.owner.value} {name.ident}'
            )

    def _to_trash(self, ioctx: Any, name: str, ours: frozenset[str]) -> str:
        with self.librbd.Image(ioctx, name, read_only=True) as image:
            _check_unused(image, ours)
            self._check_age(image.create_timestamp())
            for each in list(image.list_snaps()):
                _check_no_children(image, each['id'])
            if image.group()['name']:
                raise outcomes.Refused(IN_GROUP, image.group()['name'])
            mirrored = image.mirror_image_get_info()['state']
            if mirrored != self.librbd.RBD_MIRROR_IMAGE_DISABLED:
                raise outcomes.Refused(MIRRORED)
            migrating = image.features() & self.librbd.RBD_FEATURE_MIGRATING
        done = ''
        if migrating:
            # librbd does not move an image with an unfinished migration to the
            # trash.
            done = f'{migrations.finish(self.librbd, ioctx, name)}; '
        with self.librbd.Image(ioctx, name, read_only=True) as image:
            ident = image.id()
        seconds = int(self.rules.delay.total_seconds())
        self.librbd.RBD().trash_move(ioctx, name, seconds)
        return f'{done}moved to the trash as {ident} for {self.rules.delay}'

    def _purge(self, ioctx: Any, ident: str, ours: frozenset[str]) -> str:
        now = datetime.datetime.now(datetime.timezone.utc)
        entry = self.librbd.RBD().trash_get(ioctx, ident)
        end = entry['deferment_end_time'].replace(tzinfo=datetime.timezone.utc)
        if entry['source'] != 'USER' or end > now:
            raise outcomes.Refused(DEFERRED, f'{end:%Y-%m-%d %H:%M}')
        with self.librbd.Image(ioctx, image_id=ident, read_only=True) as image:
            _check_unused(image, ours)
            for each in list(image.list_snaps()):
                _check_no_children(image, each['id'])
        self.librbd.RBD().trash_remove(ioctx, ident, False)
        return f'deleted {ident}'

    def _snapshot(self, ioctx: Any, about: str, ours: frozenset[str]) -> str:
        name, _, snapshot = about.partition('@')
        with self.librbd.Image(ioctx, name, read_only=True) as image:
            _check_unused(image, ours)
            (ident,) = (
                each['id']
                for each in image.list_snaps()
                if each['name'] == snapshot
            )
            self._check_age(image.get_snap_timestamp(ident))
            _check_no_children(image, ident)
        with self.librbd.Image(ioctx, name) as image:
            if image.is_protected_snap(snapshot):
                image.unprotect_snap(snapshot)
            image.remove_snap(snapshot)
        return 'deleted the snapshot'

    def _name(self, connection: Any, ioctx: Any, name: str) -> str:
        """Remove the name of an image that has neither header nor data.

        An image without the object of its ID was being removed, and librbd
        continues that. It refuses if a client still has the image open.
        """
        try:
            content = ioctx.read(f'rbd_id.{name}')
        except self.librados.ObjectNotFound:
            self.librbd.RBD().remove(ioctx, name)
            return 'completed the removal of the image'
        # An encoded string: its length in four bytes, then its characters.
        ident = content[4:].decode()
        for found in self._objects(connection, ioctx, ident):
            raise outcomes.Refused(NOT_A_REST, found)
        with contextlib.suppress(self.librbd.ImageNotFound):
            self.librbd.RBD().remove(ioctx, name)
        return f'deleted the name of {ident}'

    def _objects(
        self, connection: Any, ioctx: Any, ident: str
    ) -> Iterator[str]:
        """Yield the header and the first data objects, if they exist.

        The data may be in any pool, because only the header names the data
        pool.
        """
        here = ioctx.get_pool_id()
        first = f'{0:016x}'
        wanted = [(ioctx, f'rbd_header.{ident}')]
        with contextlib.ExitStack() as stack:
            for pool in connection.list_pools():
                other = stack.enter_context(connection.open_ioctx(pool))
                wanted += [
                    (other, f'rbd_data.{ident}.{first}'),
                    (other, f'rbd_data.{here}.{ident}.{first}'),
                ]
            for where, key in wanted:
                with contextlib.suppress(self.librados.ObjectNotFound):
                    where.stat(key)
                    yield key

    def _check_age(self, made: datetime.datetime) -> None:
        """Check the age of an image or snapshot.

        :raises Refused: if it is younger than the minimum age
        """
        now = datetime.datetime.now(datetime.timezone.utc)
        made = made.replace(tzinfo=datetime.timezone.utc)
        if now - made < self.rules.older_than:
            raise outcomes.Refused(TOO_YOUNG, f'of {made:%Y-%m-%d %H:%M} UTC')


def _check_unused(image: Any, ours: frozenset[str]) -> None:
    found = use.of_image(image, ours)
    addresses = {*found.watchers, found.owner} - {''}
    if addresses:
        raise outcomes.Refused(IN_USE, ', '.join(sorted(addresses)))


def _check_no_children(image: Any, snapshot: int) -> None:
    """Check that a snapshot has no clones, including clones in the trash."""
    with images.at(image, snapshot):
        found = [
            f'{each["pool"]}/{each["image"]}'
            for each in image.list_children2()
        ]
    if found:
        raise outcomes.Refused(CHILDREN, ', '.join(found))
