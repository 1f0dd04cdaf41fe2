# SPDX-License-Identifier: Apache-2.0

"""As much of librbd as changes of an image call.

The functional tests change images on a cluster; this is for the order of
calls and for faults.
"""

from collections.abc import Iterator
import contextlib
from typing import Any

from rbd_volume_options import features


class Error(Exception):
    """Base of librbd's errors."""


class ImageNotFound(Error):
    """There is no such image."""


class ObjectNotFound(Error):
    """There is no such object."""


class Image:
    """An image with one snapshot; it is also module, handle and cluster.

    :ivar calls: what was changed, in order
    :ivar ident: its ID, which differs after another image got its name
    :ivar flags_of: flags of the head (None) and of the snapshot (7)
    :ivar rebuilds: whether a rebuild makes a map valid
    """

    Error = Error
    ImageNotFound = ImageNotFound
    ObjectNotFound = ObjectNotFound

    def __init__(self, initial: features.Features, flags: int = 0) -> None:
        self.there = initial
        self.ident = 'abc'
        self.flags_of: dict[int | None, int] = {None: flags, 7: flags}
        self.at: int | None = None
        self.watchers: list[dict[str, Any]] = []
        self.lockers: Any = []
        self.calls: list[str] = []
        self.error: Exception | None = None
        self.rebuilds = True
        self.answers: list[Exception | None] = []
        self.asked: list[str] = []

    @property
    def librbd(self) -> Any:
        return self

    librados = librbd

    @contextlib.contextmanager
    def connected(self, pool: str) -> Iterator[tuple[Any, Any]]:
        """Yield itself as the context of a pool."""
        yield None, self

    def notify(self, name: str, message: str, timeout: int) -> None:
        """Ask the clients; without a given answer, they answer."""
        self.asked.append(name)
        if self.answers and (error := self.answers.pop(0)):
            raise error

    def id(self) -> str:
        return self.ident

    def Image(self, ioctx: Any, name: str, **kwargs: Any) -> Any:
        if self.error:
            raise self.error
        self.at = None
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.at = None

    def features(self) -> int:
        return features.to_mask(self.there)

    def flags(self) -> int:
        """Return the flags where it is set to."""
        return self.flags_of[self.at]

    def list_snaps(self) -> list[dict[str, Any]]:
        return [{'id': 7, 'name': 'one', 'namespace': 0}]

    def set_snap_by_id(self, ident: int) -> None:
        self.at = ident

    def set_snap(self, name: None) -> None:
        self.at = None

    def watchers_list(self) -> list[dict[str, Any]]:
        return self.watchers

    def list_lockers(self) -> Any:
        return self.lockers

    def update_features(self, mask: int, enabled: bool) -> None:
        """Enable or disable features."""
        changed = features.from_mask(mask)
        word = 'enable' if enabled else 'disable'
        self.calls.append(f'{word} {features.joined(changed)}')
        self.there = self.there | changed if enabled else self.there - changed
        if features.OBJECT_MAP in changed:
            self.flags_of = dict.fromkeys(self.flags_of, 3 if enabled else 0)

    def rebuild_object_map(self) -> None:
        """Make a map valid."""
        self.calls.append(f'rebuild {self.at}')
        if self.rebuilds:
            self.flags_of[self.at] = 0
