# SPDX-License-Identifier: Apache-2.0

"""Plans of changes: made by one command, read by a person, applied by another.

The file has one JSON object per line, so that a person can delete lines. The
first line says what the plan applies to. Each other line is an item with a
seal: an item that was changed, or copied from another plan, is refused. The
seal is a checksum, against accidents: whoever writes the file can make it.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import hashlib
import json
from typing import Any

from rbd_volume_tools.command_line import outcomes

VERSION = 2
#: Maximum difference between the clocks of two hosts.
MAX_SKEW = datetime.timedelta(minutes=5)
_MAX_AGE = datetime.timedelta(days=3)


class PlanError(Exception):
    """A file is no plan, or one that cannot be applied here."""


@dataclasses.dataclass(frozen=True)
class Header:
    """What a plan applies to.

    :ivar command: the command that made the plan, such as ``clean``
    :ivar cluster: fsid of the Ceph cluster; empty if services make the changes
    :ivar cloud: URL of Keystone
    :ivar region: region of the services
    :ivar taken: time of the plan
    :ivar options: what the command needs to apply the plan
    """

    command: str
    cluster: str
    cloud: str
    region: str
    taken: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    version: int = VERSION

    @property
    def time(self) -> datetime.datetime:
        """The time of the plan.

        :raises PlanError: if it has none
        """
        try:
            time = datetime.datetime.fromisoformat(self.taken)
            if time.tzinfo is None:
                raise ValueError(f'{self.taken} has no time zone')
        except (TypeError, ValueError) as error:
            raise PlanError(f'The time of the plan: {error}') from error
        return time

    def check(self, cluster: str, cloud: str, region: str) -> None:
        """Check that the plan is for a cluster and a cloud.

        :raises PlanError: otherwise
        """
        planned = self.cluster, self.cloud, self.region
        if planned != (cluster, cloud, region):
            raise PlanError(
                f'The plan is for the cluster {self.cluster or "(none)"}, the '
                f'cloud {self.cloud} and its region '
                f'{self.region or "(none)"}, not for {cluster or "(none)"}, '
                f'{cloud} and {region or "(none)"}.'
            )


def now() -> datetime.datetime:
    """Return the current time."""
    return datetime.datetime.now(datetime.timezone.utc)


def text(header: Header, items: Iterable[outcomes.Outcome]) -> str:
    """Return a plan as the content of a file."""
    first = _line(dataclasses.asdict(header))
    lines = (_sealed(first, _plain(each)) for each in items)
    return '\n'.join([first, *lines, ''])


def _plain(item: outcomes.Outcome) -> dict[str, Any]:
    """Return what a line has: all that is not empty."""
    values = {name: value for name, value in item.plain().items() if value}
    del values['status']
    return values


def parsed(
    content: str, command: str
) -> tuple[Header, list[outcomes.Outcome]]:
    """Return the plan in the content of a file.

    :param command: the command that applies it
    :raises PlanError: if it is none, is of another command or old, or an item
        was changed
    """
    first, *lines = [
        line for line in content.splitlines() if line.strip()
    ] or ('',)
    try:
        header = Header(**json.loads(first))
    except (RecursionError, TypeError, ValueError) as error:
        raise PlanError(
            f'The first line is not that of a plan: {error}. Give the file '
            f'that {command} plan has written.'
        ) from error
    if header.version != VERSION:
        raise PlanError(
            f'The plan has version {header.version}, not {VERSION}. Make a '
            'new plan.'
        )
    if header.command != command:
        raise PlanError(
            f'The plan is one of {header.command}, not of {command}.'
        )
    if not -MAX_SKEW < now() - header.time < _MAX_AGE:
        raise PlanError(
            f'The plan is of {header.taken}. Plans are valid for '
            f'{_MAX_AGE.days} days. Make a new plan.'
        )
    items = []
    for number, line in enumerate(lines, 2):
        try:
            values = json.loads(line)
            values.pop('seal')
            if _sealed(first, values) != line:
                raise ValueError('it does not have its seal')
            planned = {'pool': '', 'image': '', **values}
            items.append(outcomes.Outcome(outcomes.Status.PLANNED, **planned))
        except (
            *(AttributeError, KeyError, RecursionError),
            *(TypeError, ValueError),
        ) as error:
            raise PlanError(
                f'Line {number} was changed: {error}. Lines of a plan can be '
                'deleted, but not changed.'
            ) from error
    return header, items


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _sealed(first: str, values: Mapping[str, Any]) -> str:
    seal = hashlib.sha256(f'{first}\n{_line(values)}'.encode()).hexdigest()
    return _line({**values, 'seal': seal[:16]})
