# SPDX-License-Identifier: Apache-2.0

"""Passes metadata from the form to Cinder.

The stock ``CreateForm.handle`` passes an empty dictionary to
``openstack_dashboard.api.cinder.volume_create``. Only the request is available
to both, so the form stores its metadata in the request. The function is
wrapped once, when the application starts. It does not change for other
callers.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import inspect
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django.core import exceptions
from openstack_dashboard.api import cinder

from horizon_volume_opts import refusals

_ATTRIBUTE = '_rbd_volume_options_asked'


@dataclasses.dataclass
class Asked:
    """The metadata that a form requests.

    :ivar metadata: the keys and their values
    :ivar refusal: the reason if Cinder refused them
    """

    metadata: Mapping[str, str]
    refusal: refusals.Refusal | None = None


@contextlib.contextmanager
def asking(request: Any, metadata: Mapping[str, str]) -> Iterator[Asked]:
    """Create the volumes of this request with metadata."""
    passed = Asked(metadata)
    setattr(request, _ATTRIBUTE, passed)
    try:
        yield passed
    finally:
        delattr(request, _ATTRIBUTE)


def carry_metadata() -> None:
    """Wrap Horizon's function.

    :raises AttributeError: if Horizon does not have the function
    """
    cinder.volume_create = _carrying(cinder.volume_create)


def _carrying(stock: Any) -> Any:
    signature = inspect.signature(stock)

    @functools.wraps(stock)
    def volume_create(request: Any, *args: Any, **kwargs: Any) -> Any:
        passed = getattr(request, _ATTRIBUTE, None)
        if passed is None:
            return stock(request, *args, **kwargs)
        call = signature.bind(request, *args, **kwargs)
        metadata = call.arguments.get('metadata') or {}
        call.arguments['metadata'] = {**metadata, **passed.metadata}
        try:
            return stock(*call.args, **call.kwargs)
        except cinder_exceptions.ClientException as error:
            passed.refusal = refusals.read(error)
            if passed.refusal is None:
                raise
            # Stock forms show a ValidationError and keep the user's input.
            raise exceptions.ValidationError(passed.refusal.text) from error

    return volume_create
