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

"""Requests about volume types and their extra specs."""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from cinder.api.openstack import wsgi
from cinder.volume import volume_types
from oslo_log import log as logging
import webob.exc

from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import offers
from cinder_rbd_ext.api import policies
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from rbd_volume_options import errors
from rbd_volume_options import keys

LOG = logging.getLogger(__name__)


class _SpecsController(wsgi.Controller):
    def __init__(self, reported: pools.ReportedPools) -> None:
        super().__init__()
        self._reported = reported

    def _check(self, specs: Mapping[str, str]) -> None:
        """Check all specs that a type is to have."""
        origin = errors.Origin.VOLUME_TYPE
        with refusals.bad_request():
            checks.check_syntax(specs, keys.Scope.TYPE, origin)
            try:
                matching = self._reported.matching(specs)
            except webob.exc.HTTPServiceUnavailable:
                # Types are often made before the first back end is there.
                LOG.info('Extra specs are checked by themselves only')
                return
            checks.check_specs(offers.Offer.of(specs, matching), origin)


class TypesController(_SpecsController):
    """Volume types that are created with extra specs."""

    @wsgi.extends(action='create')
    def create(self, req: Any, body: Any = None) -> Iterator[None]:
        """Check the extra specs of a new type."""
        volume_type = (
            body.get('volume_type') if isinstance(body, dict) else None
        )
        if isinstance(volume_type, dict):
            specs = volume_type.get('extra_specs')
            given = checks.ours(specs)
            if given:
                context = req.environ['cinder.context']
                policies.check(context, policies.SET_EXTRA_SPECS)
                self._check(_strings(specs))
        yield


class ExtraSpecsController(_SpecsController):
    """Extra specs of a type that is there."""

    @wsgi.extends
    def create(
        self, req: Any, type_id: str, body: Any = None
    ) -> Iterator[None]:
        """Check extra specs that are added to a type."""
        if isinstance(body, dict):
            self._check_added(req, type_id, body.get('extra_specs'))
        yield

    @wsgi.extends
    def update(
        self, req: Any, type_id: str, id: str, body: Any = None
    ) -> Iterator[None]:
        """Check one extra spec."""
        self._check_added(req, type_id, body)
        yield

    def _check_added(self, req: Any, type_id: str, items: Any) -> None:
        given = checks.ours(items)
        if not given:
            return
        context = req.environ['cinder.context']
        policies.check(context, policies.SET_EXTRA_SPECS)
        there = volume_types.get_volume_type(context, type_id)
        specs = {**(there['extra_specs'] or {}), **_strings(items)}
        self._check(specs)


def _strings(items: Any) -> dict[str, str]:
    """Return what is text of extra specs that aren't checked yet."""
    return {
        key: value
        for key, value in items.items()
        if isinstance(key, str) and isinstance(value, str)
    }
