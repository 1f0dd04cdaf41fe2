# SPDX-License-Identifier: Apache-2.0

"""The clients that use an image."""

import dataclasses
from typing import Any

#: The tag of librbd's own exclusive lock; others are set by administrators.
_TAG = 'internal'


@dataclasses.dataclass(frozen=True)
class Use:
    """The clients that have an image open, and its exclusive lock.

    A client that has opened an image for reading only is not seen. Such a
    client writes nothing and holds no lock.

    :ivar watchers: addresses of the clients
    :ivar owner: address of the client that holds the lock; empty if the lock
        is free
    :ivar owner_watches: whether that client still watches the image. If it
        does not, librbd breaks its lock and blocklists it when another client
        needs the lock.
    :ivar is_manual: whether an administrator has set the lock
    :ivar has_earlier: whether the watch of a client of an earlier run has not
        expired
    """

    watchers: tuple[str, ...] = ()
    owner: str = ''
    owner_watches: bool = False
    has_earlier: bool = False
    is_manual: bool = False

    @property
    def stale_owner(self) -> str:
        """Address of the client that is gone and holds the lock, or empty."""
        return '' if self.owner_watches or self.is_manual else self.owner


def of_image(image: Any, ours: frozenset[str] = frozenset()) -> Use:
    """Return the use of an image by other clients.

    :param image: opened for reading only, so that this process does not watch
        it
    :param ours: names of the clients of earlier, killed runs, which do not
        count. Their watches expire after up to 30 seconds. Their locks remain
        until another client needs them.
    """
    watches_list = list(image.watchers_list())
    watchers = {f'client.{each["id"]}': each for each in watches_list}
    others = tuple(
        each['addr'] for name, each in watchers.items() if name not in ours
    )
    earlier = len(others) < len(watchers)
    # librbd returns an empty list instead of a dictionary if there is no lock.
    locks = image.list_lockers() or {'lockers': [], 'tag': ''}
    if not locks['lockers']:
        return Use(others, has_earlier=earlier)
    client, cookie, address = locks['lockers'][0]
    if client in ours:
        return Use(others, has_earlier=earlier)
    # A client that has opened the image more than once has several watches.
    watches = locks['tag'] == _TAG and any(
        f'client.{each["id"]}' == client
        and str(each['cookie']) == cookie.split()[-1]
        for each in watches_list
    )
    return Use(others, address, watches, earlier, locks['tag'] != _TAG)
