# SPDX-License-Identifier: Apache-2.0

"""Changes of images and volumes, and how they ended."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from keystoneauth1 import exceptions as keystone
from openstack import exceptions
import requests


class NotAnswered(Exception):
    """A service or a database did not answer."""


#: Errors of a request for the records of one image.
UNANSWERED: tuple[type[Exception], ...] = (
    NotAnswered,
    requests.RequestException,
    exceptions.SDKException,
    keystone.ClientException,
)
#: Errors that concern one image. Its metadata may be no text.
OF_ONE_IMAGE = (*UNANSWERED, UnicodeDecodeError)


class Status(enum.Enum):
    """The result of a change."""

    DONE = 'done'
    #: No change was necessary.
    UNCHANGED = 'unchanged'
    #: An item of a plan.
    PLANNED = 'planned'
    #: A rule forbids the change; an operator has to act.
    REFUSED = 'refused'
    #: Nothing proves that the image belongs to this cloud.
    UNKNOWN = 'owner unknown'
    FAILED = 'failed'
    #: The services complete the change without the command.
    RUNNING = 'running'
    #: An earlier run with the same journal made the change.
    EARLIER = 'done earlier'


#: Statuses of images that need no further action.
FINAL = frozenset({Status.DONE, Status.UNCHANGED})


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why an image was not changed.

    :ivar code: stable name for programs
    :ivar text: the reason
    :ivar remedy: what an operator can do
    """

    code: str
    text: str
    remedy: str


FOREIGN = Reason(
    'image-of-another-cloud',
    'its mark names another cloud',
    'Leave it to that cloud.',
)


class Refused(Exception):
    """A rule forbids a change.

    :ivar reason: the rule
    :ivar detail: details of the case
    """

    def __init__(self, reason: Reason, detail: str = '') -> None:
        super().__init__(f'{reason.text}: {detail}' if detail else reason.text)
        self.reason = reason
        self.detail = detail


class Unneeded(Exception):
    """An image or a volume is already as the change would make it."""


class Continues(Exception):
    """A service completes a change after the end of the command."""


class NotVerified(Exception):
    """The state of an image after a change is not the planned one.

    :ivar remedy: what an operator can do
    """

    def __init__(self, text: str, remedy: str = '') -> None:
        super().__init__(text)
        self.remedy = remedy


#: What to do if the Ceph user lacks a capability.
READ = 'Name other pools with --pool, or a --ceph-user that may read it.'
WRITE = "Use a --ceph-user with 'profile rbd' for the pool."


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A change of an image or a volume: in a plan, in a journal, in a table.

    :ivar image: name of the image, with ``@snapshot`` for a snapshot
    :ivar ident: librbd's id of the image; id of the volume if Cinder makes the
        change
    :ivar detail: the change that was or would be made, or the reason against
        it
    :ivar code: code of the reason, if any
    :ivar seconds: duration of the change
    :ivar size: provisioned bytes
    :ivar seen: what a plan has seen, and the change must find again, as JSON
    """

    status: Status
    pool: str
    image: str
    ident: str = ''
    detail: str = ''
    remedy: str = ''
    code: str = ''
    volume: str = ''
    project: str = ''
    seconds: float = 0.0
    size: int = 0
    seen: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """Pool, name and ID of the image."""
        return self.pool, self.image, self.ident

    def refused(self, error: Refused) -> 'Outcome':
        """Return the outcome of a refused change."""
        return dataclasses.replace(
            self,
            status=Status.REFUSED,
            code=error.reason.code,
            detail=str(error),
            remedy=error.reason.remedy,
        )

    def plain(self) -> dict[str, Any]:
        """Return the outcome as plain values."""
        return {**dataclasses.asdict(self), 'status': self.status.value}


def unreadable(pool: str, name: str, why: str) -> Outcome:
    """Return the outcome of an image that cannot be opened.

    :param name: empty for a pool that the Ceph user may not read
    """
    remedy = '' if name else READ
    return Outcome(Status.FAILED, pool, name, detail=why, remedy=remedy)


def severity(results: Iterable[Outcome], interrupted: bool = False) -> int:
    """Return the exit status for outcomes.

    0 if nothing is left to do, 1 if a rule forbade a change, 2 if one failed,
    and 3 if the run was interrupted.
    """
    statuses = {each.status for each in results}
    if interrupted:
        return 3
    if Status.FAILED in statuses:
        return 2
    return int(Status.REFUSED in statuses)
