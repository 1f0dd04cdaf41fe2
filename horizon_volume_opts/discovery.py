# SPDX-License-Identifier: Apache-2.0

"""Discovery of the options of volume types, through Cinder's API extension.

One request returns the options of all volume types that a user can see. It
has a timeout of a few seconds, and its response is cached for a minute, so
that pages are not blocked, even if Cinder does not respond.
"""

from collections.abc import Collection
from collections.abc import Mapping
import copy
import hashlib
import json
import logging
from typing import Any
import zlib

from cinderclient import exceptions as cinder_exceptions
from django.core import cache as caches
from horizon import exceptions
from openstack_dashboard.api import cinder

from horizon_volume_opts import conf
from horizon_volume_opts import offers
from horizon_volume_opts import refusals
from rbd_volume_options import definitions

LOG = logging.getLogger(__name__)

#: Seconds before the next request if Cinder did not respond.
_PAUSE = 10
_DOWN = 'down'
#: The attribute of a request of the dashboard: the offers, and whether they
#: are new.
_DISCOVERED = '_rbd_volume_options_discovered'
# The others are those of a response in another form.
_FAILURES: tuple[type[Exception], ...] = (
    *refusals.FAILURES,
    AttributeError,
    LookupError,
    TypeError,
)


class Unavailable(Exception):
    """The options of volume types are not available at the moment."""


def by_type(
    request: Any, listed: Collection[str] = ()
) -> Mapping[str, offers.UserOffer]:
    """Return the offers of all types that the user can see, by type name.

    The result is empty if Cinder does not have the API extension, or if its
    policy does not allow the request.

    :param listed: names or IDs of existing types. A cached response without
        one of them is older than that type and is not used.
    :raises Unavailable: if Cinder does not respond
    """
    # A page reads the answer once, not for each of its volumes. It asks once,
    # also for types that the user cannot see, and if the cache fails.
    visible, is_new = getattr(request, _DISCOVERED, (None, False))
    key = _key(request)
    if visible is None:
        visible = _read(_cached(key))
    if not is_new and (visible is None or _is_older(visible, listed)):
        answer = _ask(request)
        _cache(key, answer)
        visible, is_new = _read(answer), True
    setattr(request, _DISCOVERED, (visible, is_new))
    if visible == _DOWN:
        raise Unavailable()
    by_name: Mapping[str, offers.UserOffer] = visible
    return by_name


def of_type(request: Any, name: str | None) -> offers.UserOffer | None:
    """Return the offer of a type; None if the user cannot see the type.

    :raises Unavailable: if Cinder does not respond
    """
    return by_type(request, [name]).get(name) if name else None


def of_ident(request: Any, ident: str) -> offers.UserOffer | None:
    """Return the offer of a type with options; None if there is none.

    :param ident: ID of the type
    :raises Unavailable: if Cinder does not respond
    """
    for each in by_type(request, [ident]).values():
        if each.ident == ident and each.reason is None:
            return each
    return None


def _cached(key: str) -> Any:
    """Return an answer from the cache; None without one."""
    try:
        packed = caches.cache.get(key)
        return packed and json.loads(zlib.decompress(packed))
    except Exception as error:
        # Each cache has its own exceptions. Pages do not depend on it.
        LOG.warning('Could not read RBD volume options from cache: %s', error)
        return None


def _cache(key: str, answer: Any) -> None:
    """Put an answer into the cache."""
    seconds = _PAUSE if answer == _DOWN else conf.get(conf.DISCOVERY_CACHE)
    try:
        # memcached limits a value to 1 MiB.
        packed = zlib.compress(json.dumps(answer).encode())
        caches.cache.set(key, packed, seconds)
    except Exception as error:
        LOG.warning('Could not put RBD volume options in cache: %s', error)


def _read(answer: Any) -> Any:
    """Return the offers in an answer, by type name."""
    if answer is None or answer == _DOWN:
        return answer
    return {each['name']: offers.UserOffer.of(each) for each in answer}


def _is_older(visible: Any, listed: Collection[str]) -> bool:
    # These have no types: no API extension, and no response.
    if visible == _DOWN or not visible:
        return False
    idents = {offer.ident for offer in visible.values()}
    return bool(set(listed) - visible.keys() - idents)


def _key(request: Any) -> str:
    """Return the cache key of the response for the user.

    The offers depend on the scope and roles through Cinder's policies, which
    can refer to the user too. Each region of each Keystone has its own Cinder.
    """
    user = request.user
    who = [
        user.endpoint,
        user.services_region,
        user.id,
        user.project_id,
        user.domain_id,
        bool(user.system_scoped),
        sorted(role['name'] for role in user.roles or ()),
    ]
    digest = hashlib.sha256(json.dumps(who).encode()).hexdigest()
    return f'rbd-volume-options-{digest}'


def _ask(request: Any) -> Any:
    """Return the types in the response; `_DOWN` without a valid response."""
    try:
        client = _client(request)
        _response, body = client.get(definitions.ROUTE)
        types = body['volume_types']
        # An invalid response must fail here, not where it is used.
        for offer in _read(types).values():
            if offer.is_invalid:
                LOG.warning(
                    'The response of Cinder for volume type %s is invalid; '
                    'forms do not show its RBD volume options',
                    offer.name,
                )
        return types
    except (
        cinder_exceptions.NotFound,
        cinder_exceptions.Forbidden,
        exceptions.ServiceCatalogException,
    ) as error:
        # 404: no API extension. 403: not allowed for this user. Without an
        # entry in the catalog: no Cinder in the user's region.
        LOG.info('RBD volume options are not available in Cinder: %s', error)
        return []
    except _FAILURES as error:
        LOG.warning(
            'Could not get the RBD volume options of volume types; forms do '
            'not show them: %s',
            error,
        )
        return _DOWN


def _client(request: Any) -> Any:
    """Return Horizon's HTTP client for Cinder, with our timeout.

    This is a copy, so that the client that Horizon keeps for the request does
    not change.
    """
    client = copy.copy(cinder.cinderclient(request).client)
    client.timeout = conf.get(conf.DISCOVERY_TIMEOUT)
    return client
