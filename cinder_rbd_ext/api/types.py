# SPDX-License-Identifier: Apache-2.0

"""Requests about volume types and their extra specs."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import functools
from typing import Any

from cinder.api.contrib import types_extra_specs
from cinder.volume import volume_types
from oslo_log import log as logging
from oslo_utils import strutils
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import asked as requests
from cinder_rbd_ext.api import refusals
from rbd_volume_options import checks
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import offers
from rbd_volume_options import registry
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

# Extra specs of Cinder that can contradict ours.
_RELATED = frozenset({'multiattach', 'replication_enabled'})


After = Callable[[Any], None]


def _check(asked: requests.Asked, specs: Mapping[str, str]) -> None:
    checks.check_syntax(checks.ours(specs) or {}, keys.Scope.TYPE)
    try:
        matching = asked.reported.matching(specs)
    except webob.exc.HTTPServiceUnavailable:
        # Types are often created before the first back end exists.
        LOG.info(
            'Extra specs are checked without the limits of the back ends, '
            'which are not available'
        )
        return
    checks.check_specs(offers.TypeOffer.of_pools(specs, matching))


def _forget(asked: requests.Asked, response: Any) -> None:
    asked.types.forget()


def check_create(asked: requests.Asked) -> After:
    """Check the extra specs of a new type."""
    specs = requests.part_of(
        requests.part_of(asked.part, 'volume_type'), 'extra_specs'
    )
    if _names_ours(specs):
        policies.check(asked.context, wire.POLICY_SET_EXTRA_SPECS)
        with refusals.bad_request(shows_pools=True):
            _check(asked, _strings(specs))
    return functools.partial(_forget, asked)


def check_added(asked: requests.Asked) -> After:
    """Check extra specs that are added to a type, and the key in the path."""
    named = asked.ids.get('id', '')
    if keys.is_misspelled(named):
        _authorize(asked)
        with refusals.bad_request(shows_pools=True):
            checks.check_syntax({named: ''}, keys.Scope.TYPE)
    if _names_ours(asked.part):
        _authorize(asked)
    elif _RELATED & asked.part.keys():
        asked.context.authorize(asked.policy)
    else:
        return functools.partial(_forget, asked)
    specs = {**_existing(asked), **_strings(asked.part)}
    if checks.ours(specs):
        with refusals.bad_request(shows_pools=True):
            _check(asked, specs)
    return functools.partial(_forget, asked)


def check_removed(asked: requests.Asked) -> After:
    """Check that the type is still valid without an extra spec.

    ``?with_partner=true`` also removes the other key of a pair.
    """
    key = asked.ids['id']
    partner = None
    if keys.is_ours(key):
        _authorize(asked)
        existing = _existing(asked)
        if _with_partner(asked.req) and registry.partner(key) in existing:
            partner = registry.partner(key)
        with refusals.bad_request(shows_pools=True):
            checks.check_removable(key, existing, keys.Scope.TYPE)
            _check_rest(asked, existing, {key, partner})

    def after(response: Any) -> None:
        if partner:
            # Stock Cinder checks this and notifies about it as well.
            stock_api = types_extra_specs.VolumeTypeExtraSpecsController()
            stock_api.delete(asked.req, asked.ids['type_id'], partner)
        asked.types.forget()

    return after


def _check_rest(
    asked: requests.Asked,
    existing: dict[str, str],
    removed: Collection[str | None],
) -> None:
    rest = {k: v for k, v in existing.items() if k not in removed}
    if len(rest) == len(existing) or not checks.ours(rest):
        return
    try:
        _check(asked, rest)
    except errors.OptionError:
        try:
            _check(asked, existing)
        except errors.OptionError:
            # The type was invalid before. Specs are corrected one by one.
            return
        raise


def _authorize(asked: requests.Asked) -> None:
    policies.check(asked.context, wire.POLICY_SET_EXTRA_SPECS)
    asked.context.authorize(asked.policy)


def _existing(asked: requests.Asked) -> dict[str, str]:
    volume_type = volume_types.get_volume_type(
        asked.context, asked.ids['type_id']
    )
    return dict(volume_type['extra_specs'] or {})


def _with_partner(req: protocols.Request) -> bool:
    try:
        text = req.GET.get(wire.WITH_PARTNER, 'false')
        return bool(strutils.bool_from_string(text, strict=True))
    except ValueError as error:
        raise webob.exc.HTTPBadRequest(
            explanation=f'{wire.WITH_PARTNER}: not a boolean'
        ) from error


def _names_ours(items: dict[str, Any]) -> bool:
    """Return whether unchecked extra specs contain an ``rbd:`` key.

    False for input that Cinder's own schema refuses. The schema accepts null,
    which would create the key without a value.
    """
    for key in filter(keys.is_ours, items):
        if items[key] is None:
            with refusals.bad_request(shows_pools=True):
                raise errors.OptionError(
                    registry.shown_key(key),
                    'null',
                    'not a string',
                    'a string; use DELETE to remove the extra spec',
                    errors.Origin.VOLUME_TYPE,
                )
    return bool(checks.ours(items))


def _strings(items: dict[str, Any]) -> dict[str, str]:
    return {k: v for k, v in items.items() if isinstance(v, str)}
