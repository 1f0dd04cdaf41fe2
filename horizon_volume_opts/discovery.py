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

"""What volume types offer, asked of Cinder's API extension.

One request answers for all types that a user sees. It waits a few seconds at
most and its answer is kept for a minute, so that no page hangs on it, nor on
a Cinder that doesn't answer.
"""

from collections.abc import Collection
from collections.abc import Mapping
import copy
import hashlib
import json
import logging
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django.core import cache as caches
from openstack_dashboard.api import cinder
import requests.exceptions

from horizon_volume_opts import conf
from horizon_volume_opts import offers
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

#: Seconds for which a Cinder that didn't answer isn't asked again.
_PAUSE = 10
_DOWN = 'down'


class Unavailable(Exception):
    """Nobody can tell at the moment what types offer."""


def by_type(
    request: Any, listed: Collection[str] = ()
) -> Mapping[str, offers.UserOffer]:
    """Return what each type that the user sees offers, by the type's name.

    Where Cinder has no such extension, or the user may not ask it, nothing
    is offered.

    :param listed: types that are there; an answer that has been kept and
        lacks one of them is older than the type
    :raises Unavailable: where Cinder doesn't answer
    """
    key = _key(request)
    answer = caches.cache.get(key)
    if answer is None or _is_older(answer, listed):
        answer = _ask(request)
        seconds = _PAUSE if answer == _DOWN else conf.get(conf.DISCOVERY_CACHE)
        caches.cache.set(key, answer, seconds)
    if answer == _DOWN:
        raise Unavailable()
    return _read(answer)


def of_type(request: Any, name: str | None) -> offers.UserOffer | None:
    """Return what a type offers; None for a type that the user doesn't see.

    :raises Unavailable: where Cinder doesn't answer
    """
    return by_type(request, [name]).get(name) if name else None


def _read(answer: Any) -> dict[str, offers.UserOffer]:
    return {each['name']: offers.UserOffer.of(each) for each in answer}


def _is_older(answer: Any, listed: Collection[str]) -> bool:
    # No extension and no answer know of no type at all.
    if answer == _DOWN or not answer:
        return False
    return bool(set(listed) - {each['name'] for each in answer})


def _key(request: Any) -> str:
    """Return the key of the user's own answer in the cache.

    What a type offers depends on project and roles by Cinder's policies,
    which may name the user too.
    """
    user = request.user
    who = [
        user.id,
        user.project_id,
        user.services_region,
        sorted(role['name'] for role in user.roles or ()),
    ]
    digest = hashlib.sha256(json.dumps(who).encode()).hexdigest()
    return f'rbd-volume-options-{digest}'


def _ask(request: Any) -> Any:
    """Return the types of the answer; `_DOWN` where there is none."""
    try:
        client = _client(request)
        _response, body = client.get(wire.ROUTE)
        found = body['volume_types']
        # What can't be read is to fail here, not wherever it is used.
        _read(found)
        return found
    except (cinder_exceptions.NotFound, cinder_exceptions.Forbidden) as error:
        # 404: no extension there. 403: not for this user.
        LOG.info('Cinder tells nothing of RBD volume options: %s', error)
        return []
    except (
        cinder_exceptions.ClientException,
        cinder_exceptions.ConnectionError,
        requests.exceptions.RequestException,
        LookupError,
        TypeError,
    ) as error:
        LOG.warning(
            'Cinder does not tell what volume types offer, forms go without '
            'RBD volume options: %s',
            error,
        )
        return _DOWN


def _client(request: Any) -> Any:
    """Return Horizon's own HTTP client for Cinder, with our time limit.

    A copy: the one that Horizon keeps for the request stays as it is.
    """
    client = copy.copy(cinder.cinderclient(request).client)
    client.timeout = conf.get(conf.DISCOVERY_TIMEOUT)
    return client
