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

"""The routes below ``/os-rbd-volume-options``."""

from collections.abc import Mapping
from typing import Any

from cinder import exception
from cinder.api.openstack import wsgi
from cinder.volume import volume_types
from oslo_config import cfg

from cinder_rbd_ext import policies
from cinder_rbd_ext.api import answers
from cinder_rbd_ext.api import offers
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import qos
from rbd_volume_options import wire

CONF = cfg.CONF


class OptionsController(wsgi.Controller):
    """Shows what volume types offer."""

    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._reported = reported

    def index(self, req: Any) -> answers.Answer:
        """Return the options of each type that is visible to the caller."""
        context = req.environ['cinder.context']
        policies.check(context, policies.GET)
        limits = _limits(context)
        return answers.of_types(
            self._answer(each, context, limits) for each in _visible(context)
        )

    def show(self, req: Any, **_path: Any) -> answers.Answer:
        """Return the options of a type, named by its id or name."""
        wanted = _name_in_path(req)
        context = req.environ['cinder.context']
        policies.check(context, policies.GET)
        seen = _visible(context)
        # The id first, because the name of a type can be the id of another.
        for key in ('id', 'name'):
            for each in seen:
                if each[key] == wanted:
                    answer = self._answer(each, context, _limits(context))
                    return {'volume_type': answer}
        raise exception.VolumeTypeNotFound(volume_type_id=wanted)

    # Cinder's router gives these two paths a meaning, but types may have any
    # name.
    new = edit = show

    def _answer(
        self, volume_type: Any, context: Any, limits: qos.QosLimits | None
    ) -> answers.Answer:
        specs: Mapping[str, str] = volume_type['extra_specs'] or {}
        offer = offers.TypeOffer.of(specs, self._reported.matching(specs))
        answer = answers.of_type(
            volume_type,
            offer,
            policies.settable(context),
            shows_pools=policies.allows(context, policies.GET_POOLS),
        )
        if limits and answer[wire.SUPPORTED]:
            answer[wire.QOS_LIMITS] = limits.of(volume_type)
        return answer


def _name_in_path(req: Any) -> str:
    """Return what follows the route in the path of a request.

    The router splits names at a slash and at the last dot, and the server
    passes the bytes of a path as Latin-1 (PEP 3333).
    """
    path: str = req.environ['PATH_INFO']
    name = path.partition(f'{wire.ROUTE}/')[2]
    return name.encode('latin-1').decode('utf-8', 'replace')


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


def _limits(context: Any) -> qos.QosLimits | None:
    """Return the limits of types; None if the caller may not see them."""
    allowed = policies.allows(context, policies.GET_QOS_LIMITS)
    return qos.QosLimits(context) if allowed else None


def _visible(context: Any) -> list[Any]:
    """Return the types that are visible to the caller, as GET /types does.

    For administrators, these include private types.
    """
    filters = {'is_public': None if context.is_admin else True}
    types: list[Any] = volume_types.get_all_types(
        context, filters=filters, list_result=True
    )
    return types
