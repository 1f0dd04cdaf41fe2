# SPDX-License-Identifier: Apache-2.0

"""The expected state of the resources of a sequence."""

from __future__ import annotations

import dataclasses

from tests.life import content
from tests.life import kinds
from tests.life import state as states

Content = content.Content


@dataclasses.dataclass
class Attachment:
    """An attachment of a volume.

    :ivar mode: the cache mode that Cinder must show; None if unset
    :ivar judged: whether the mode is known
    """

    ident: str
    mode: str | None = None
    judged: bool = True


@dataclasses.dataclass
class Volume:
    """A Cinder volume.

    :ivar name: its name in the sequence
    :ivar owner: ``a``, ``b`` or ``admin``
    :ivar kind: the volume type
    :ivar size: in GiB
    :ivar keys: the ``rbd:`` items of its metadata
    :ivar filled: the content; None if it is unknown
    :ivar bases: the source and former images, whose layout it may have if no
        layout is requested
    :ivar inherits: whether it must have the layout of the newest base, as far
        as its type allows
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
    #: The ID in the name of the image; another one after a migration.
    name_id: str = ''
    host: str = ''
    #: The multi-attach flag that Cinder shows. After a retype with migration,
    #: it has the former value.
    flagged: bool = False
    #: Whether its image was created outside Cinder; such an image is
    #: unchanged.
    managed: bool = False
    #: Whether the stock driver moved it from the stock driver, without a
    #: record.
    unrecorded: bool = False
    #: Whether its layout may be one that its back end would not create.
    foreign: bool = False

    def known_content(self) -> Content | None:
        """Return a copy of the content, if it is known."""
        return None if self.filled is None else dict(self.filled)

    @property
    def idle(self) -> bool:
        """Whether it is available."""
        return self.status == 'available'

    @property
    def shared(self) -> bool:
        """Whether several servers can attach it."""
        return self.kind.multiattach or self.flagged

    @property
    def image(self) -> str:
        """The name of its RBD image."""
        return f'volume-{self.name_id or self.ident}'

    @property
    def backend(self) -> kinds.Backend | None:
        """The back end of the volume; None if it is not on RBD."""
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

    def known_content(self) -> Content | None:
        """Return a copy of the content, if it is known."""
        return None if self.filled is None else dict(self.filled)


@dataclasses.dataclass
class Backup:
    """A backup, with the keys of its volume."""

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


@dataclasses.dataclass
class Transfer:
    """The offer of a volume to the other tenant."""

    name: str
    ident: str
    volume: str
    key: str


@dataclasses.dataclass
class Stray:
    """An RBD image that is unknown to Cinder."""

    name: str
    backend: kinds.Backend
    image: str
    size: int
    filled: Content | None


Resource = Volume | Snapshot | Backup | Image | Transfer | Stray


def about(entry: Resource) -> set[str]:
    """Return the names of a resource and of the volume that it is of."""
    if isinstance(entry, Snapshot | Transfer):
        return {entry.name, entry.volume}
    return {entry.name}


@dataclasses.dataclass
class Model:
    """All resources of a sequence, by name, in order of creation."""

    volumes: dict[str, Volume] = dataclasses.field(default_factory=dict)
    snapshots: dict[str, Snapshot] = dataclasses.field(default_factory=dict)
    backups: dict[str, Backup] = dataclasses.field(default_factory=dict)
    images: dict[str, Image] = dataclasses.field(default_factory=dict)
    transfers: dict[str, Transfer] = dataclasses.field(default_factory=dict)
    strays: dict[str, Stray] = dataclasses.field(default_factory=dict)

    def idle(self) -> list[Volume]:
        """Return the available volumes."""
        return [each for each in self.volumes.values() if each.idle]

    def on_ceph(self) -> list[Volume]:
        """Return the available volumes that are RBD images."""
        return [each for each in self.idle() if each.backend]

    def filled(self) -> list[Volume]:
        """Return those of them whose content is known."""
        return [each for each in self.on_ceph() if each.filled is not None]

    def of_tenants(self) -> list[Volume]:
        """Return the volumes of the tenants."""
        return [v for v in self.volumes.values() if v.owner in 'ab']

    def usable(self) -> list[Volume]:
        """Return the volumes of the tenants that they can use."""
        states = ('available', 'in-use')
        return [v for v in self.of_tenants() if v.status in states]

    def snapshots_of(self, volume: str) -> list[Snapshot]:
        """Return the snapshots of a volume, oldest first."""
        return [s for s in self.snapshots.values() if s.volume == volume]

    def offered(self, volume: str) -> bool:
        """Return whether a volume is offered to the other tenant."""
        return any(t.volume == volume for t in self.transfers.values())
