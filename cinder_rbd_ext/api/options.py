# SPDX-License-Identifier: Apache-2.0

"""The routes below ``/os-rbd-volume-options``.

They show the allowed values and defaults of each key, and the limits of QoS
specs, with the schema of :mod:`rbd_volume_options.published`.
"""

from collections.abc import Callable
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
from typing import Any

from cinder import exception
from cinder.api.openstack import wsgi
from cinder.volume import volume_types
from oslo_config import cfg

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import type_specs
from cinder_rbd_ext.api import pools
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import offers
from rbd_volume_options import published

CONF = cfg.CONF

Answer = dict[str, Any]


class OptionsController(wsgi.Controller):
    """Shows what volume types offer."""

    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._reported = reported

    def index(self, req: protocols.Request) -> Answer:
        """Return the options of each type that is visible to the caller."""
        context = req.environ['cinder.context']
        policies.check(context, policies.GET)
        read = functools.cache(type_specs.read_qos)
        types = sorted(_visible(context), key=lambda each: str(each['name']))
        return {
            'volume_types': [
                self._answer(each, context, read) for each in types
            ]
        }

    def show(self, req: protocols.Request, **_path: object) -> Answer:
        """Return the options of a type, named by its id or name."""
        # The router splits names at a slash and at the last dot, and the
        # server passes the bytes of a path as Latin-1 (PEP 3333).
        path = req.environ['PATH_INFO'].partition(f'{definitions.ROUTE}/')[2]
        wanted = path.encode('latin-1').decode('utf-8', 'replace')
        context = req.environ['cinder.context']
        policies.check(context, policies.GET)
        seen = _visible(context)
        # The id first, because the name of a type can be the id of another.
        for key in ('id', 'name'):
            for each in seen:
                if each[key] == wanted:
                    answer = self._answer(
                        each, context, functools.cache(type_specs.read_qos)
                    )
                    return {'volume_type': answer}
        raise exception.VolumeTypeNotFound(volume_type_id=wanted)

    # Cinder's router gives these two paths a meaning, but types may have any
    # name.
    new = edit = show

    def _answer(
        self,
        volume_type: Mapping[str, Any],
        context: protocols.Context,
        read: Callable[[str], Any],
    ) -> Answer:
        specs: Mapping[str, str] = volume_type['extra_specs'] or {}
        offer = offers.TypeOffer.of_pools(
            specs, self._reported.matching(specs)
        )
        # The limits that tenants may set have QoS specs as maxima.
        with contextlib.suppress(errors.OptionError):
            specs = type_specs.with_maxima(
                volume_type, offer.tenant_options, read
            )
            offer = dataclasses.replace(offer, specs=specs)
        answer = offer.answer(
            volume_type,
            policies.settable(context),
            shows_pools=policies.allows(context, policies.GET_POOLS),
        )
        if answer['supported'] and policies.allows(
            context, policies.GET_QOS_LIMITS
        ):
            ident = volume_type.get('qos_specs_id')
            limits = read(ident) if ident else None
            answer['qos_limits'] = limits and published.qos_limits(
                str(limits.consumer), limits.specs or {}
            )
        return answer


def route_all_names(mapper: Any, resource: Any) -> None:
    """Route names with a slash to :meth:`OptionsController.show`."""
    for prefix in (f'/{{project_id:{CONF.project_id_regex}}}', ''):
        mapper.connect(
            definitions.ALIAS,
            f'{prefix}{definitions.ROUTE}/{{id:.+}}',
            controller=resource,
            action='show',
            conditions={'method': ['GET']},
        )


def _visible(context: protocols.Context) -> list[Any]:
    filters = {'is_public': None if context.is_admin else True}
    types: list[Any] = volume_types.get_all_types(
        context, filters=filters, list_result=True
    )
    return types
