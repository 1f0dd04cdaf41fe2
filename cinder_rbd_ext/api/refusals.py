# SPDX-License-Identifier: Apache-2.0

"""Refusals as HTTP responses."""

from collections.abc import Callable
import functools
from typing import Any

from cinder import exception
from cinder.volume import rpcapi
import webob.exc

from rbd_volume_options import errors

#: Reason of :func:`unavailable`.
NOT_REPORTED = (
    'The back end of the volume has not reported its capabilities yet.'
)

# The calls to the volume service in which the driver refuses an attachment.
_REFUSING = ('attachment_update', 'initialize_connection')


def show_reasons_only() -> None:
    """Make Cinder's API respond with the reason of a refusal by the driver.

    The text of an exception that RPC has transported ends with its traceback,
    and Cinder responds with the whole text (seen with 29.0.0).
    """
    for name in _REFUSING:
        method = getattr(rpcapi.VolumeAPI, name)
        if not hasattr(method, '_shows_reasons_only'):
            setattr(rpcapi.VolumeAPI, name, _without_traceback(method))


def _without_traceback(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: object, **kwargs: object) -> Any:
        try:
            return method(*args, **kwargs)
        except exception.InvalidVolume as error:
            # Only str() has the traceback.
            raise exception.InvalidVolume(error.msg) from error

    call._shows_reasons_only = True  # type: ignore[attr-defined]
    return call


def refused(reason: object, hint: str = '') -> webob.exc.HTTPBadRequest:
    """Return the response for what our rules do not allow."""
    text = f'{reason}; {hint}' if hint else str(reason)
    return webob.exc.HTTPBadRequest(explanation=f'{errors.REFUSED}{text}')


def no_backend(type_name: str) -> webob.exc.HTTPServiceUnavailable:
    """Return the response for a type whose back ends have not reported."""
    return unavailable(
        'No back end that has reported its capabilities matches volume type '
        f'{type_name}.'
    )


def unavailable(reason: str) -> webob.exc.HTTPServiceUnavailable:
    """Return the response if required information is not available."""
    return webob.exc.HTTPServiceUnavailable(
        explanation=f'{reason} Try again in a minute.'
    )


def tell(response: Any, notice: str | None) -> None:
    """Add a notice to a response, as the header ``Warning`` (RFC 7234).

    The body is not changed, because clients check it against a schema.
    """
    if notice and response is not None:
        # An unknown key is a tenant's text.
        quoted = notice.replace('"', "'")
        response['Warning'] = f'299 - "{quoted}"'
