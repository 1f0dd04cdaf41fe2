# SPDX-License-Identifier: Apache-2.0

"""Answers of the APIs to the commands."""

from typing import Any

from osc_lib import exceptions

from rbd_command_line import printable
from rbd_volume_options import wire

Record = dict[str, Any]

NOT_LOADED = 'API extension not loaded'


def record(response: Any) -> Record:
    """Return the body of a response.

    :raises CommandError: if the service refuses the request, with its message
    """
    if response.status_code >= 400:
        try:
            (fault,) = response.json().values()
            text = fault['message']
        except (AttributeError, KeyError, TypeError, ValueError):
            text = response.text
        shown = printable.text(str(text))
        raise exceptions.CommandError(f'{shown} (HTTP {response.status_code})')
    body: Record = response.json()
    return body


def has_extension(storage: Any) -> bool:
    """Return whether Cinder's API has loaded the API extension.

    :param storage: Cinder's API
    :raises CommandError: if the API does not say so
    """
    response = storage.get(f'/extensions/{wire.ALIAS}')
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
            f'{wire.ALIAS}.{instead and " "}{instead}'
        )
