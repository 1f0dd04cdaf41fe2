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
from cinder_rbd_ext.api import api_call
from rbd_volume_options import checks
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import offers
from rbd_volume_options import registry

LOG = logging.getLogger(__name__)

# Extra specs of Cinder that can contradict ours.
_RELATED = frozenset({'multiattach', 'replication_enabled'})


After = Callable[[Any], None]


def _check(call: api_call.ApiCall, specs: Mapping[str, str]) -> None:
    checks.check_syntax(checks.ours(specs) or {}, keys.Scope.TYPE)
    try:
        matching = call.reported.matching(specs)
    except webob.exc.HTTPServiceUnavailable:
        # Types are often created before the first back end exists.
        LOG.info(
            'Extra specs are checked without the limits of the back ends, '
            'which are not available'
        )
        return
    checks.check_specs(offers.TypeOffer.of_pools(specs, matching))


def _forget(call: api_call.ApiCall, response: Any) -> None:
    call.types.forget()


def check_create(call: api_call.ApiCall) -> After:
    """Check the extra specs of a new type."""
    call.shows_pools = True
    specs = api_call.part_of(
        api_call.part_of(call.part, 'volume_type'), 'extra_specs'
    )
    if _names_ours(specs):
        policies.check(call.context, policies.SET_EXTRA_SPECS)
        _check(call, _strings(specs))
    return functools.partial(_forget, call)


def check_added(call: api_call.ApiCall) -> After:
    """Check extra specs that are added to a type, and the key in the path."""
    call.shows_pools = True
    named = call.ids.get('id', '')
    if keys.is_misspelled(named):
        _authorize(call)
        checks.check_syntax({named: ''}, keys.Scope.TYPE)
    if _names_ours(call.part):
        _authorize(call)
    elif _RELATED & call.part.keys():
        call.context.authorize(call.policy)
    else:
        return functools.partial(_forget, call)
    specs = {**_existing(call), **_strings(call.part)}
    if checks.ours(specs):
        _check(call, specs)
    return functools.partial(_forget, call)


def check_removed(call: api_call.ApiCall) -> After:
    """Check that the type is still valid without an extra spec.

    ``?with_partner=true`` also removes the other key of a pair.
    """
    call.shows_pools = True
    key = call.ids['id']
    partner = None
    if keys.is_ours(key):
        _authorize(call)
        existing = _existing(call)
        if _with_partner(call.req) and registry.partner(key) in existing:
            partner = registry.partner(key)
        checks.check_removable(key, existing, keys.Scope.TYPE)
        _check_rest(call, existing, {key, partner})

    def after(response: Any) -> None:
        if partner:
            # Stock Cinder checks this and notifies about it as well.
            stock_api = types_extra_specs.VolumeTypeExtraSpecsController()
            stock_api.delete(call.req, call.ids['type_id'], partner)
        call.types.forget()

    return after


def _check_rest(
    call: api_call.ApiCall,
    existing: dict[str, str],
    removed: Collection[str | None],
) -> None:
    rest = {k: v for k, v in existing.items() if k not in removed}
    if len(rest) == len(existing) or not checks.ours(rest):
        return
    try:
        _check(call, rest)
    except errors.OptionError:
        try:
            _check(call, existing)
        except errors.OptionError:
            # The type was invalid before. Specs are corrected one by one.
            return
        raise


def _authorize(call: api_call.ApiCall) -> None:
    policies.check(call.context, policies.SET_EXTRA_SPECS)
    call.context.authorize(call.policy)


def _existing(call: api_call.ApiCall) -> dict[str, str]:
    volume_type = volume_types.get_volume_type(
        call.context, call.ids['type_id']
    )
    return dict(volume_type['extra_specs'] or {})


def _with_partner(req: protocols.Request) -> bool:
    try:
        text = req.GET.get('with_partner', 'false')
        return bool(strutils.bool_from_string(text, strict=True))
    except ValueError as error:
        raise webob.exc.HTTPBadRequest(
            explanation='with_partner: not a boolean'
        ) from error


def _names_ours(items: dict[str, Any]) -> bool:
    """Return whether unchecked extra specs contain an ``rbd:`` key.

    False for input that Cinder's own schema refuses. The schema accepts null,
    which would create the key without a value.
    """
    for key in filter(keys.is_ours, items):
        if items[key] is None:
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
