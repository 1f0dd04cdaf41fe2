# SPDX-License-Identifier: Apache-2.0

"""The option ``--project``: names or IDs of projects."""

import argparse
from collections.abc import Container
from collections.abc import Iterable
import dataclasses
import re
from typing import Any

from openstack import exceptions

# An ID that Keystone has created.
_ID = re.compile('[0-9a-f]{32}')


@dataclasses.dataclass(frozen=True)
class Projects:
    """Projects that an operator selects.

    :ivar idents: their IDs; empty for all projects
    :ivar unknown: those of them that Keystone does not show. A project that
        was deleted can have resources.
    """

    idents: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()

    def check(
        self, recorded: Container[str], may_be_deleted: bool = False
    ) -> None:
        """Check that each project exists, or has resources.

        :param recorded: IDs of projects in the records of resources
        :param may_be_deleted: whether the ID of a project is enough. It may be
            that of a deleted project with no resources left.
        :raises ValueError: if one does not
        """
        for each in sorted(self.unknown):
            is_id = may_be_deleted and _ID.fullmatch(each)
            if each not in recorded and not is_id:
                raise ValueError(
                    f'--project {each}: neither Keystone nor a record has '
                    'such a project; allowed: the name or the ID of a '
                    'project. Keystone shows the names to administrators only.'
                )


def add(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option to the parser of a command.

    :param what: what it selects
    """
    parser.add_argument(
        '--project',
        metavar='<project>',
        type=_given,
        action='append',
        default=[],
        help=f'{what} (name or ID); repeat the option for several projects',
    )


def _given(text: str) -> str:
    """Return a name or an ID.

    A shell passes an empty text for a variable that is not set. What has no
    known project would be selected.
    """
    if not text:
        raise argparse.ArgumentTypeError('it is empty')
    return text


def selected(cloud: Any, names: Iterable[str]) -> Projects:
    """Return the projects of the option.

    :param cloud: a connection of openstacksdk
    :raises SDKException: if several projects have a name, or Keystone does not
        answer
    """
    idents, unknown = set(), set()
    for each in names:
        try:
            project = cloud.identity.find_project(each, ignore_missing=False)
            if project.is_domain:
                # Keystone shows a domain by its ID, such as 'default', too.
                project = _named(cloud, each)
        except (exceptions.NotFoundException, exceptions.ForbiddenException):
            unknown.add(each)
        else:
            idents.add(project.id)
    return Projects(frozenset(idents | unknown), frozenset(unknown))


def _named(cloud: Any, name: str) -> Any:
    projects = list(cloud.identity.projects(name=name))
    if not projects:
        raise exceptions.NotFoundException(name)
    if len(projects) > 1:
        raise exceptions.DuplicateResource(
            f'Several projects are named {name}.'
        )
    return projects[0]
