# SPDX-License-Identifier: Apache-2.0

"""Refusals of Cinder that a form shows at a field.

The stock forms that extend and retype a volume hide the reason of a refusal
and leave the page. Functions of Horizon are wrapped once, when the application
starts. They do not change for other callers.
"""

from collections.abc import Iterator
import contextlib
import functools
import re
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from horizon import messages
from openstack_dashboard.api import cinder

from horizon_volume_opts import refusals

_ATTRIBUTE = '_rbd_volume_options_refusing'
_NOTICE = re.compile(r'299 \S+ "(?P<text>.*)"')


class RefusedRequest(BaseException):
    """A refusal for a form; handlers of stock forms for Exception let it pass.

    :ivar refusal: the reason
    """

    def __init__(self, refusal: refusals.Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


@contextlib.contextmanager
def showing(request: Any) -> Iterator[None]:
    """Raise refusals of this request as RefusedRequest, and show notices."""
    setattr(request, _ATTRIBUTE, True)
    try:
        yield
    finally:
        delattr(request, _ATTRIBUTE)


def wrap(name: str) -> None:
    """Wrap a function of Horizon's API module for Cinder.

    :raises AttributeError: if Horizon does not have the function
    """
    setattr(cinder, name, _showing(getattr(cinder, name)))


def _showing(stock: Any) -> Any:
    @functools.wraps(stock)
    def wrapped(request: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(request, _ATTRIBUTE, False):
            return stock(request, *args, **kwargs)
        try:
            result = stock(request, *args, **kwargs)
        except cinder_exceptions.ClientException as error:
            refusal = _read(error)
            if refusal is None:
                raise
            raise RefusedRequest(refusal) from error
        answered = isinstance(result, tuple) and bool(result)
        show_notice(request, result[0] if answered else None)
        return result

    return wrapped


def _read(
    error: cinder_exceptions.ClientException,
) -> refusals.Refusal | None:
    refusal = refusals.read(error)
    if refusal is None and isinstance(error, cinder_exceptions.BadRequest):
        # The request is the user's, and so is the correction.
        return refusals.Refusal(None, str(error.message or error))
    return refusal


def show_notice(request: Any, response: Any) -> bool:
    """Show the notice in a response, such as removed keys, to the user.

    :returns: whether there was a notice
    """
    headers = getattr(response, 'headers', None) or {}
    notice = _NOTICE.fullmatch(headers.get('Warning', ''))
    if notice:
        messages.warning(request, notice['text'])
    return notice is not None
