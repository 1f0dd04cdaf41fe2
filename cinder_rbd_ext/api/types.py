# SPDX-License-Identifier: Apache-2.0

"""Requests about volume types and their extra specs."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from cinder.api.contrib import types_extra_specs
from cinder.api.openstack import wsgi
from cinder.policies import type_extra_specs as stock
from cinder.volume import volume_types
from oslo_log import log as logging
from oslo_utils import strutils
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import controller
from cinder_rbd_ext.api import refusals
from rbd_volume_options import checks
from rbd_volume_options import errors
from rbd_volume_options import key_spelling
from rbd_volume_options import keys
from rbd_volume_options import offers
from rbd_volume_options import registry
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

# Extra specs of Cinder that can contradict ours.
_RELATED = frozenset({'multiattach', 'replication_enabled'})


class _SpecsController(controller.Controller):
    def _check(self, specs: Mapping[str, str]) -> None:
        checks.check_syntax(checks.ours(specs) or {}, keys.Scope.TYPE)
        try:
            matching = self._reported.matching(specs)
        except webob.exc.HTTPServiceUnavailable:
            # Types are often created before the first back end exists.
            LOG.info(
                'Extra specs are checked without the limits of the back ends, '
                'which are not available'
            )
            return
        checks.check_specs(offers.TypeOffer.of(specs, matching))


class TypesController(_SpecsController):
    """Volume types that are created with extra specs."""

    @wsgi.extends(action='create')
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the extra specs of a new type."""
        volume_type = controller.part_of(body, 'volume_type')
        specs = controller.part_of(volume_type, 'extra_specs')
        if _names_ours(specs):
            context = req.environ['cinder.context']
            policies.check(context, wire.POLICY_SET_EXTRA_SPECS)
            with refusals.bad_request(shows_pools=True):
                self._check(_strings(specs))
        yield
        self._types.forget()


class ExtraSpecsController(_SpecsController):
    """Extra specs of an existing type."""

    @wsgi.extends
    def create(
        self, req: protocols.Request, type_id: str, body: object = None
    ) -> Iterator[None]:
        """Check extra specs that are added to a type."""
        specs = controller.part_of(body, 'extra_specs')
        self._check_added(req, type_id, specs, stock.CREATE_POLICY)
        yield
        self._types.forget()

    @wsgi.extends
    def update(
        self,
        req: protocols.Request,
        type_id: str,
        id: str,
        body: object = None,
    ) -> Iterator[None]:
        """Check one extra spec and the key in the path."""
        if key_spelling.is_misspelled(id):
            self._authorize(req, stock.UPDATE_POLICY)
            with refusals.bad_request(shows_pools=True):
                checks.check_syntax({id: ''}, keys.Scope.TYPE)
        specs = body if isinstance(body, dict) else {}
        self._check_added(req, type_id, specs, stock.UPDATE_POLICY)
        yield
        self._types.forget()

    @wsgi.extends
    def delete(
        self, req: protocols.Request, type_id: str, id: str, **kwargs: object
    ) -> Iterator[None]:
        """Check that the type is still valid without an extra spec.

        ``?with_partner=true`` also removes the other key of a pair.
        """
        partner = None
        if key_spelling.is_ours(id):
            context = self._authorize(req, stock.DELETE_POLICY)
            existing = _existing(context, type_id)
            if _with_partner(req) and registry.partner(id) in existing:
                partner = registry.partner(id)
            with refusals.bad_request(shows_pools=True):
                checks.check_removable(id, existing, keys.Scope.TYPE)
                self._check_removed(existing, {id, partner})
        yield
        if partner:
            # Stock Cinder checks this and notifies about it as well.
            stock_api = types_extra_specs.VolumeTypeExtraSpecsController()
            stock_api.delete(req, type_id, partner)
        self._types.forget()

    def _check_removed(
        self, existing: dict[str, str], removed: Collection[str | None]
    ) -> None:
        rest = {k: v for k, v in existing.items() if k not in removed}
        if len(rest) == len(existing) or not checks.ours(rest):
            return
        try:
            self._check(rest)
        except errors.OptionError:
            try:
                self._check(existing)
            except errors.OptionError:
                # The type was invalid before. Specs are corrected one by one.
                return
            raise

    def _check_added(
        self,
        req: protocols.Request,
        type_id: str,
        items: dict[str, Any],
        action: str,
    ) -> None:
        if _names_ours(items):
            context = self._authorize(req, action)
        elif _RELATED & items.keys():
            context = req.environ['cinder.context']
            context.authorize(action)
        else:
            return
        specs = {**_existing(context, type_id), **_strings(items)}
        if checks.ours(specs):
            with refusals.bad_request(shows_pools=True):
                self._check(specs)

    def _authorize(self, req: protocols.Request, action: str) -> Any:
        context = req.environ['cinder.context']
        policies.check(context, wire.POLICY_SET_EXTRA_SPECS)
        context.authorize(action)
        return context


def _existing(context: protocols.Context, type_id: str) -> dict[str, str]:
    volume_type = volume_types.get_volume_type(context, type_id)
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
    for key in filter(key_spelling.is_ours, items):
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
