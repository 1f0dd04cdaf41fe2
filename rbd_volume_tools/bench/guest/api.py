# SPDX-License-Identifier: Apache-2.0

"""Requests to the API of a service."""

from collections.abc import Callable
import time
from typing import Any

from keystoneauth1 import exceptions as auth_exceptions
from openstack import exceptions as sdk_exceptions

from rbd_volume_tools.bench import processes

#: Seconds to wait for a change.
PATIENCE = 600.0
_POLL = 1.0
#: Characters of an answer that a message shows.
_SHOWN = 300

Record = dict[str, Any]


def request(
    service: Any,
    method: str,
    path: str,
    body: Record | None = None,
    *,
    missing: bool = False,
    **kwargs: Any,
) -> Record:
    """Send a request and return the answer.

    :param missing: whether to return an empty answer to 404
    :raises processes.EngineError: if the service refuses it
    """
    try:
        response = service.request(path, method, json=body, **kwargs)
    except (
        sdk_exceptions.SDKException,
        auth_exceptions.ClientException,
    ) as error:
        raise processes.EngineError(f'{method} {path}: {error}') from error
    if missing and response.status_code == 404:
        return {}
    if response.status_code >= 400:
        text = response.text[:_SHOWN]
        raise processes.EngineError(
            f'{method} {path}: {response.status_code}: {text}'
        )
    answer: Record = response.json() if response.content else {}
    return answer


def wait(done: Callable[[], Any], what: str, limit: float = PATIENCE) -> Any:
    """Wait until a function returns a true value, and return it.

    :param what: the state if it does not happen, for a message
    :param limit: seconds
    :raises processes.EngineError: if it does not happen
    """
    end = time.monotonic() + limit
    while not (result := done()):
        if time.monotonic() > end:
            raise processes.EngineError(f'{what} after {limit:.0f} seconds')
        time.sleep(_POLL)
    return result
