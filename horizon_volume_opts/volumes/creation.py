# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Carries metadata from the form to Cinder.

Stock ``CreateForm.handle`` passes an empty dictionary of its own to
``openstack_dashboard.api.cinder.volume_create``. The one thing that a form and
that function both see is the request, so the form leaves there what it asks
for. The function is wrapped once, when the application starts; for any other
caller it stays what it was.
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
    """What a form asks for in the course of a request.

    :ivar metadata: the keys
    :ivar refusal: why they can't be had, once that is known
    """

    metadata: Mapping[str, str]
    refusal: refusals.Refusal | None = None


@contextlib.contextmanager
def asking(request: Any, metadata: Mapping[str, str]) -> Iterator[Asked]:
    """Have volumes of this request created with metadata."""
    asked = Asked(metadata)
    setattr(request, _ATTRIBUTE, asked)
    try:
        yield asked
    finally:
        delattr(request, _ATTRIBUTE)


def carry_metadata() -> None:
    """Wrap Horizon's function.

    :raises AttributeError: where Horizon has no such function
    """
    cinder.volume_create = _carrying(cinder.volume_create)


def _carrying(stock: Any) -> Any:
    signature = inspect.signature(stock)

    @functools.wraps(stock)
    def volume_create(request: Any, *args: Any, **kwargs: Any) -> Any:
        asked = getattr(request, _ATTRIBUTE, None)
        if asked is None:
            return stock(request, *args, **kwargs)
        call = signature.bind(request, *args, **kwargs)
        given = call.arguments.get('metadata') or {}
        call.arguments['metadata'] = {**given, **asked.metadata}
        try:
            return stock(*call.args, **call.kwargs)
        except cinder_exceptions.ClientException as error:
            asked.refusal = refusals.read(error)
            if asked.refusal is None:
                raise
            # What stock forms take for "show it, keep what was typed".
            raise exceptions.ValidationError(asked.refusal.text) from error

    return volume_create
