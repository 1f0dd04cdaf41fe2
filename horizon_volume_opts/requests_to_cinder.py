# SPDX-License-Identifier: Apache-2.0

"""Requests of stock forms: passes metadata, and returns refusals.

The stock forms do not pass metadata to Cinder, and hide the reason of a
refusal. Customization modules replace the functions of ``api.cinder`` that
the forms call, so the methods of cinderclient below them are wrapped, once,
when the application starts. They do not change for other callers.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import contextvars
import dataclasses
import functools
import inspect
import re
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from cinderclient.v3 import volumes
from horizon import messages

from horizon_volume_opts import refusals

_NOTICE = re.compile(r'299 \S+ "(?P<text>.*)"')
_METHODS = ('create', 'extend', 'retype', 'manage')


class RefusedRequest(BaseException):
    """A refusal for a form; handlers of stock forms for Exception let it pass.

    :ivar refusal: the reason
    """

    def __init__(self, refusal: refusals.Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


@dataclasses.dataclass
class Submission:
    """A form that is being submitted.

    :ivar request: the request of the dashboard
    :ivar metadata: the metadata of the volume that it creates
    :ivar is_passed: whether a request with the metadata was sent; true without
        metadata
    """

    request: Any
    metadata: Mapping[str, str]
    is_passed: bool


_current: contextvars.ContextVar[Submission | None] = contextvars.ContextVar(
    'rbd_volume_options_submission', default=None
)


@contextlib.contextmanager
def submitting(
    request: Any, metadata: Mapping[str, str] | None = None
) -> Iterator[Submission]:
    """Raise refusals in the body as RefusedRequest, and show notices.

    :param metadata: the metadata of volumes that are created in the body
    """
    submission = Submission(request, metadata or {}, not metadata)
    token = _current.set(submission)
    try:
        yield submission
    finally:
        _current.reset(token)


def wrap_client() -> None:
    """Wrap the methods of cinderclient; a hook.

    :raises AttributeError: if cinderclient does not have a method
    """
    for name in _METHODS:
        stock = getattr(volumes.VolumeManager, name)
        setattr(volumes.VolumeManager, name, _wrapped(stock))


def _wrapped(stock: Any) -> Any:
    signature = inspect.signature(stock)
    is_creation = stock.__name__ == 'create'

    @functools.wraps(stock)
    def method(manager: Any, *args: Any, **kwargs: Any) -> Any:
        submission = _current.get()
        if submission is None:
            return stock(manager, *args, **kwargs)
        call = signature.bind(manager, *args, **kwargs)
        if is_creation and submission.metadata:
            metadata = call.arguments.get('metadata') or {}
            call.arguments['metadata'] = {**metadata, **submission.metadata}
            submission.is_passed = True
        try:
            result = stock(*call.args, **call.kwargs)
        except cinder_exceptions.ClientException as error:
            refusal = _read(error, is_creation)
            if refusal is None:
                raise
            raise RefusedRequest(refusal) from error
        answered = isinstance(result, tuple) and bool(result)
        show_notice(submission.request, result[0] if answered else None)
        return result

    return method


def _read(
    error: cinder_exceptions.ClientException, is_creation: bool
) -> refusals.Refusal | None:
    refusal = refusals.read(error)
    if (
        refusal is None
        and not is_creation
        and isinstance(error, cinder_exceptions.BadRequest)
    ):
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
