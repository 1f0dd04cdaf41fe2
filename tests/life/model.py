# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What we believe about the resources of a sequence."""

from __future__ import annotations

import dataclasses

from tests.life import content
from tests.life import kinds
from tests.life import state as states

Content = content.Content


@dataclasses.dataclass
class Attachment:
    """An attachment of a volume.

    :ivar mode: the cache mode that Cinder has to show; None for none
    :ivar judged: whether we know of that at all
    """

    ident: str
    mode: str | None = None
    judged: bool = True


@dataclasses.dataclass
class Volume:
    """A volume of Cinder's.

    :ivar name: what the sequence calls it
    :ivar owner: ``a``, ``b`` or ``admin``
    :ivar kind: the volume type
    :ivar size: GiB
    :ivar keys: the ``rbd:`` items of its metadata
    :ivar filled: None where its content can't be known
    :ivar bases: images whose layout it may have where nothing asks for one:
        what it was made from, what it was before
    :ivar inherits: whether it has to have the newest of them, as far as its
        type allows
    :ivar encrypted: whether the content is
    :ivar attachments: by name
    """

    name: str
    ident: str
    owner: str
    kind: kinds.Kind
    size: int
    keys: dict[str, str]
    filled: Content | None
    status: str = 'available'
    bases: list[states.State] = dataclasses.field(default_factory=list)
    inherits: bool = True
    attachments: dict[str, Attachment] = dataclasses.field(
        default_factory=dict
    )
    #: The id that the image is named by; another one after a migration.
    name_id: str = ''
    host: str = ''
    #: Whether Cinder's record of it says so. After a retype that migrates,
    #: it says what was so before.
    flagged: bool = False
    #: Of an image that wasn't made by Cinder: it is as it was.
    managed: bool = False
    #: Whether its layout may come from such an image.
    foreign: bool = False

    @property
    def idle(self) -> bool:
        """Whether it can be worked with and holds content we know of."""
        return self.status == 'available'

    @property
    def shared(self) -> bool:
        """Whether several servers can have it."""
        return self.kind.multiattach or self.flagged

    @property
    def image(self) -> str:
        """The name of its image."""
        return f'volume-{self.name_id or self.ident}'

    @property
    def backend(self) -> kinds.Backend | None:
        """The back end that it is on; None for one that isn't RBD."""
        name = self.host.partition('@')[2].partition('#')[0]
        return kinds.BACKENDS.get(name)


@dataclasses.dataclass
class Snapshot:
    """A snapshot of a volume."""

    name: str
    ident: str
    volume: str
    size: int
    filled: Content | None
    state: states.State | None
    kind: kinds.Kind
    owner: str
    foreign: bool = False


@dataclasses.dataclass
class Backup:
    """A backup; keys are those that the volume had."""

    name: str
    ident: str
    owner: str
    size: int
    filled: Content | None
    keys: dict[str, str]


@dataclasses.dataclass
class Image:
    """A Glance image."""

    name: str
    ident: str
    owner: str
    size: int
    filled: Content | None
    shared: bool = False


@dataclasses.dataclass
class Transfer:
    """A volume that is offered to the other tenant."""

    name: str
    ident: str
    volume: str
    key: str


@dataclasses.dataclass
class Stray:
    """An RBD image that Cinder doesn't know."""

    name: str
    backend: kinds.Backend
    image: str
    size: int
    filled: Content | None


@dataclasses.dataclass
class Model:
    """All of a sequence's resources, by name, in the order of creation."""

    volumes: dict[str, Volume] = dataclasses.field(default_factory=dict)
    snapshots: dict[str, Snapshot] = dataclasses.field(default_factory=dict)
    backups: dict[str, Backup] = dataclasses.field(default_factory=dict)
    images: dict[str, Image] = dataclasses.field(default_factory=dict)
    transfers: dict[str, Transfer] = dataclasses.field(default_factory=dict)
    strays: dict[str, Stray] = dataclasses.field(default_factory=dict)

    def idle(self) -> list[Volume]:
        """Return the volumes that can be worked with."""
        return [each for each in self.volumes.values() if each.idle]

    def on_ceph(self) -> list[Volume]:
        """Return the volumes that can be worked with and are RBD images."""
        return [each for each in self.idle() if each.backend]

    def snapshots_of(self, volume: str) -> list[Snapshot]:
        """Return the snapshots of a volume, oldest first."""
        return [s for s in self.snapshots.values() if s.volume == volume]

    def offered(self, volume: str) -> bool:
        """Whether a volume is offered to the other tenant."""
        return any(t.volume == volume for t in self.transfers.values())
