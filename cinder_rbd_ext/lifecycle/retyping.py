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

"""What a retype does to a volume's keys and image.

Pure rules, which the API applies to what is recorded of the image and the
driver to the image itself.
"""

from collections.abc import Mapping
import dataclasses
import functools

from oslo_utils import units

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext import request
from cinder_rbd_ext.lifecycle import accepted_keys
from cinder_rbd_ext.lifecycle import changes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import limits
from rbd_volume_options import plan

_MIGRATION = 'a retype with a migration'


@dataclasses.dataclass(frozen=True)
class Retype:
    """A volume that is to have another type.

    :ivar metadata: the volume's
    :ivar former: extra specs of the type that it has
    :ivar specs: those of the new type
    :ivar settings: of the back end that the volume is on
    :ivar size: of the volume, in GiB
    :ivar layout_requested: whether anybody requested the image's layout by a
        key of ours
    :ivar features_requested: the same of the image's features
    """

    metadata: Mapping[str, str]
    former: Mapping[str, str]
    specs: Mapping[str, str]
    settings: backend_settings.BackendSettings
    size: int
    layout_requested: bool
    features_requested: bool = False

    @functools.cached_property
    def acceptance(self) -> accepted_keys.Acceptance:
        """Which of the volume's own keys remain.

        :raises OptionError: where no volume of this size can have the type
        """
        return accepted_keys.of_type(
            self.metadata, self.specs, self.settings, self.size
        )

    def change(self, state: plan.ImageState) -> changes.Change:
        """Return what makes the image one of the new type, in place.

        :param state: what the image is
        :raises OptionError: as :meth:`acceptance`
        """
        asked = self._asked
        try:
            change = changes.needed(asked, state, self.size * units.Gi)
        except errors.OptionError as error:
            # Only the image as it is stands in the way: a new one would do.
            return changes.Change(obstacle=error)
        if change.obstacle:
            return change
        obstacle = self._pool_obstacle(asked, state)
        obstacle = obstacle or self.layout_obstacle(state)
        if obstacle:
            return changes.Change(obstacle=obstacle)
        return self._to_default(asked, state) or change

    def _to_default(
        self, asked: request.Request, state: plan.ImageState
    ) -> changes.Change | None:
        """Return the change to the features of a new volume of the type.

        Where the features were requested for the volume or by its former
        type, the new type requests none, and tenants may not request any on
        its volumes. What librbd can't change stays.

        :returns: None where the features stay
        """
        choosable = {keys.FEATURES, keys.OBJECT_MAP}
        if (
            not self.features_requested
            or self.settings.ceph_features is None
            or asked.multiattach
            or asked.resolve(backend_too=False).features_choice
            or choosable & asked.tenant_options
        ):
            return None
        wanted = asked.resolve().features_over(self.settings.ceph_features)
        try:
            limits.check_object_map(state.layout, self.size * units.Gi, wanted)
        except errors.OptionError:
            # Nobody requests the map, and the volume is too large for one.
            wanted -= {features.OBJECT_MAP, features.FAST_DIFF}
        has = state.image_features
        return changes.Change(
            (wanted - has) & features.MUTABLE,
            (has - wanted) & features.MUTABLE & features.CHOOSABLE,
            to_default=True,
        )

    def _pool_obstacle(
        self, asked: request.Request, state: plan.ImageState
    ) -> errors.OptionError | None:
        """Return why the data can't stay in its pool; None where it can.

        A pool that the former type named does not pass on. Where neither
        type names one, nothing changes. No pool is named: tenants read this.
        """
        if keys.DATA_POOL in self.specs or keys.DATA_POOL not in self.former:
            return None
        pool = asked.resolve().data_pool
        if state.data_pool == (pool.value if pool else None):
            return None
        return errors.OptionError(
            keys.DATA_POOL,
            'none',
            'the data is in the data pool of the former volume type',
            _MIGRATION,
            errors.Origin.VOLUME_TYPE,
        )

    def layout_obstacle(
        self, state: plan.ImageState
    ) -> errors.OptionError | None:
        """Return why the image's layout can't stay; None where it can.

        It can where a tenant could request it on a new volume of the type,
        and where nobody requested it at all.
        """
        given = self._as_keys(state) if self.layout_requested else {}
        if not given:
            return None
        given = {**self.acceptance.kept, **given}
        found = accepted_keys.of_type(
            given, self.specs, self.settings, self.size
        ).dropped
        if not found:
            return None
        key = min(found)
        return errors.OptionError(
            key,
            given[key],
            'the image has a layout that the new volume type does not allow '
            f'({found[key]})',
            _MIGRATION,
            errors.Origin.VOLUME_TYPE,
        )

    @functools.cached_property
    def _asked(self) -> request.Request:
        kept = self.acceptance.kept
        return request.read(kept, self.specs, self.settings)

    def _as_keys(self, state: plan.ImageState) -> dict[str, str]:
        """Return what of a layout is not a new volume's, as keys."""
        asked = self._asked
        own = asked.resolve(backend_too=False)
        stock = self.settings.stock_state()
        new = asked.resolve().layout_over(stock.layout)
        given = {}
        if not own.object_size and state.layout.object_size != new.object_size:
            given[keys.OBJECT_SIZE] = str(state.layout.object_size)
        if not own.striping and state.layout.striping != new.striping:
            given[keys.STRIPE_UNIT] = str(state.layout.stripe_unit)
            given[keys.STRIPE_COUNT] = str(state.layout.stripe_count)
        return given
