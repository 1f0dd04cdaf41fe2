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

"""Refusals as HTTP answers."""

from collections.abc import Iterator
import contextlib

import webob.exc

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import wire


@contextlib.contextmanager
def bad_request(hint: str = '', shows_pools: bool = True) -> Iterator[None]:
    """Turn an error of the rules into HTTP 400 with its whole text.

    :param hint: what else there is to know, such as what a source has
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
    """Return the answer for a type of which no back end has reported."""
    return unavailable(
        f'Volume type {type_name}: no back end that has reported matches the '
        'volume type.'
    )


def unavailable(reason: str) -> webob.exc.HTTPServiceUnavailable:
    """Return the answer for what nobody can tell at the moment."""
    return webob.exc.HTTPServiceUnavailable(
        explanation=f'{reason} Try again in a minute.'
    )
