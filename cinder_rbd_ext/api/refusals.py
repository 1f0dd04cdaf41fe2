#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Refusals as HTTP responses."""

from collections.abc import Iterator
import contextlib

import webob.exc

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import wire


@contextlib.contextmanager
def bad_request(hint: str = '', shows_pools: bool = True) -> Iterator[None]:
    """Turn an ``OptionError`` into HTTP 400 with its complete text.

    :param hint: further information, such as the layout of the source
    :param shows_pools: whether the caller may see the names of pools
    """
    try:
        yield
    except errors.OptionError as error:
        if error.key == keys.DATA_POOL and not shows_pools:
            error = error.hidden()
        text = f'{error}; {hint}' if hint else str(error)
        raise webob.exc.HTTPBadRequest(
            explanation=f'{wire.REFUSED}{text}'
        ) from error


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
