# SPDX-License-Identifier: Apache-2.0

"""Answers of the APIs to the commands."""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from osc_lib import exceptions

from rbd_volume_options import definitions
from rbd_volume_tools.command_line import printable

Record = dict[str, Any]

#: The list of all volume types that the user can see.
TYPES = '/types?is_public=None'

NOT_LOADED = 'API extension not loaded'


def record(response: Any) -> Record:
    """Return the body of a response.

    :raises CommandError: if the service refuses the request, with its message,
        or the response is not from it
    """
    if response.status_code >= 400:
        try:
            (fault,) = response.json().values()
            text = fault['message']
        except (AttributeError, KeyError, TypeError, ValueError):
            text = response.text
        shown = printable.text(str(text))
        raise exceptions.CommandError(f'{shown} (HTTP {response.status_code})')
    try:
        body: Record = response.json()
    except ValueError as error:
        shown = printable.text(response.text[:200])
        raise exceptions.CommandError(f'Not an answer: {shown}') from error
    return body


def pages(
    ask: Callable[[str], Record], path: str, kind: str
) -> Iterator[Record]:
    """Yield the resources of a list of Cinder, which has pages.

    A page has at most ``osapi_max_limit`` resources. One that may not be the
    last has links.

    :param ask: returns the body of the response to GET
    :param path: of the list, with a query
    """
    after = ''
    while True:
        answer = ask(path + after)
        bodies = answer[kind]
        yield from bodies
        # The links have the name of the kind, or its singular.
        if not bodies or not any(each.endswith('_links') for each in answer):
            return
        after = f'&marker={bodies[-1]["id"]}'


def volume_types(storage: Any) -> list[Record]:
    """Return the volume types that the user can see.

    :param storage: Cinder's API
    :raises CommandError: if it refuses the request
    """

    def ask(path: str) -> Record:
        return record(storage.get(path))

    return list(pages(ask, TYPES, 'volume_types'))


def has_extension(storage: Any) -> bool:
    """Return whether Cinder's API has loaded the API extension.

    :param storage: Cinder's API
    :raises CommandError: if the API does not say so
    """
    response = storage.get(f'/extensions/{definitions.ALIAS}')
    if response.status_code == 404:
        return False
    record(response)
    return True


def need_extension(storage: Any, instead: str = '') -> None:
    """Check that Cinder's API has loaded the API extension.

    :param storage: Cinder's API
    :param instead: what the user can do without the extension
    :raises CommandError: if it has not
    """
    if not has_extension(storage):
        raise exceptions.CommandError(
            f'{NOT_LOADED}: cinder-api of this cloud does not have '
            f'{definitions.ALIAS}.{instead and " "}{instead}'
        )
