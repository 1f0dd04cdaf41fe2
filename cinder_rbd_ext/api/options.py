# SPDX-License-Identifier: Apache-2.0

"""The routes below ``/os-rbd-volume-options``.

They show the allowed values and defaults of each key, and the limits of QoS
specs, with the schema of :mod:`rbd_volume_options.published`.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import functools
import re
from typing import Any

from cinder import exception
from cinder.volume import qos_specs
from cinder.volume import volume_types
from oslo_config import cfg

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import offers
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import multiattach
from rbd_volume_options import precedence
from rbd_volume_options import request
from rbd_volume_options import wire

CONF = cfg.CONF

Answer = dict[str, Any]

# The names that Cinder's RBD driver or Nova's libvirt driver reads. QoS specs
# can have other entries, which are not for tenants.
_LIMIT = re.compile(
    '(total|read|write)_(iops|bytes)_sec(_max)?|'
    '(total|read|write)_(iops|bytes)_sec_per_gb(_min)?'
)


class OptionsController(offers.Controller):
    """Shows what volume types offer."""

    def index(self, req: protocols.Request) -> Answer:
        """Return the options of each type that is visible to the caller."""
        context = req.environ['cinder.context']
        policies.check(context, wire.POLICY_GET)
        limits_of = _limits_of(context)
        types = sorted(_visible(context), key=lambda each: str(each['name']))
        return {
            'volume_types': [
                self._answer(each, context, limits_of) for each in types
            ]
        }

    def show(self, req: protocols.Request, **_path: object) -> Answer:
        """Return the options of a type, named by its id or name."""
        # The router splits names at a slash and at the last dot, and the
        # server passes the bytes of a path as Latin-1 (PEP 3333).
        path = req.environ['PATH_INFO'].partition(f'{wire.ROUTE}/')[2]
        wanted = path.encode('latin-1').decode('utf-8', 'replace')
        context = req.environ['cinder.context']
        policies.check(context, wire.POLICY_GET)
        seen = _visible(context)
        # The id first, because the name of a type can be the id of another.
        for key in ('id', 'name'):
            for each in seen:
                if each[key] == wanted:
                    limits_of = _limits_of(context)
                    answer = self._answer(each, context, limits_of)
                    return {'volume_type': answer}
        raise exception.VolumeTypeNotFound(volume_type_id=wanted)

    # Cinder's router gives these two paths a meaning, but types may have any
    # name.
    new = edit = show

    def _answer(
        self,
        volume_type: Mapping[str, Any],
        context: protocols.Context,
        limits_of: Callable[[str | None], Answer | None] | None,
    ) -> Answer:
        specs: Mapping[str, str] = volume_type['extra_specs'] or {}
        offer = offers.TypeOffer.of(specs, self._reported.matching(specs))
        answer = of_type(
            volume_type,
            offer,
            policies.settable(context),
            shows_pools=policies.allows(context, wire.POLICY_GET_POOLS),
        )
        if limits_of and answer[wire.SUPPORTED]:
            ident = volume_type.get('qos_specs_id')
            answer[wire.QOS_LIMITS] = limits_of(ident)
        return answer


def route_all_names(mapper: Any, resource: Any) -> None:
    """Route names with a slash to :meth:`OptionsController.show`."""
    project = f'{{project_id:{CONF.project_id_regex}}}'
    for prefix in (f'/{project}', ''):
        mapper.connect(
            wire.ALIAS,
            f'{prefix}{wire.ROUTE}/{{id:.+}}',
            controller=resource,
            action='show',
            conditions={'method': ['GET']},
        )


def _limits_of(
    context: protocols.Context,
) -> Callable[[str | None], Answer | None] | None:
    if not policies.allows(context, wire.POLICY_GET_QOS_LIMITS):
        return None
    # Only administrators may read QoS specs.
    admin = context.elevated()

    @functools.cache
    def limits_of(ident: str | None) -> Answer | None:
        if ident is None:
            return None
        qos_spec = qos_specs.get_qos_specs(admin, ident)
        limits = {
            name: value
            for name, value in sorted((qos_spec.specs or {}).items())
            if _LIMIT.fullmatch(name) and value is not None
        }
        if not limits:
            return None
        return {'consumer': str(qos_spec.consumer), 'limits': limits}

    return limits_of


def _visible(context: protocols.Context) -> list[Any]:
    filters = {'is_public': None if context.is_admin else True}
    types: list[Any] = volume_types.get_all_types(
        context, filters=filters, list_result=True
    )
    return types


def of_type(
    volume_type: Mapping[str, Any],
    offer: offers.TypeOffer,
    settable: Collection[str],
    shows_pools: bool = True,
) -> Answer:
    """Return the response for a volume type with some settable keys."""
    answer: Answer = {
        'id': volume_type['id'],
        'name': volume_type['name'],
        wire.SUPPORTED: False,
        'reason': offer.reason,
        'options': {},
    }
    if offer.reason:
        return answer
    try:
        defaults = [
            requested.resolve(settings.ceph_level)
            for requested, settings in offer.requests({})
        ]
        allowed = offer.tenant_options & frozenset(settable)
    except errors.OptionError as error:
        # Extra specs that were set without this extension.
        answer['reason'] = str(error)
        return answer
    answer[wire.SUPPORTED] = True
    answer[wire.REQUIRE_WHOLE_STRIPES] = any(
        each.limits.require_whole_stripes for each in offer.settings
    )
    backends = [each.limits for each in offer.settings]
    is_shared = request.is_multiattach(offer.specs)
    for option in definitions.with_values():
        choice = _default_of(option.key, defaults, is_shared)
        is_pool = option.kind is definitions.Kind.DATA_POOL
        if is_pool and not shows_pools:
            choice = None
        answer['options'][option.key] = described = {
            'summary': str(option.summary),
            'type': option.value_type.value,
            wire.SETTABLE: option.key in allowed,
            wire.FIXED_AT_CREATION: option.fixed,
            'default': definitions.as_json(choice.value) if choice else None,
            wire.DEFAULT_FROM: choice.origin.label if choice else None,
            **option.bounds_of(backends, is_shared),
        }
        for field, key in option.rules.items():
            if rule := _default_of(key, defaults, is_shared=False):
                described[field] = rule.value
        if option.rules:
            described['minimum'] = min(
                described['minimum'], described['maximum']
            )
        if is_pool and shows_pools:
            described[wire.CANDIDATES] = offer.data_pools
    return answer


def _default_of(
    key: str, defaults: Iterable[precedence.Resolved], is_shared: bool
) -> precedence.Choice[Any] | None:
    """Return the default of a key and its origin.

    None if the back ends differ, or if Ceph's configuration decides and they
    have not reported it. A value of None stands for volumes without striping.
    """
    choices = [each.effective(key) for each in defaults]
    if is_shared:
        choices = [multiattach.shared(key, each) for each in choices]
    if any(each != choices[0] for each in choices):
        return None
    return choices[0]
