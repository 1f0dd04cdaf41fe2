# SPDX-License-Identifier: Apache-2.0

"""The plan of a retype: what happens to a volume's keys and to its image.

The rules have no side effects. The API extension applies them to the record
of the image, the driver to the image itself.
"""

from collections.abc import Mapping
import dataclasses
import functools
from typing import Protocol

from rbd_volume_options import accepted_keys
from rbd_volume_options import backend_settings
from rbd_volume_options import changes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import request
from rbd_volume_options import sizes

_MIGRATION = 'a retype with a migration'


class Volume(request.Volume, image_record.Volume, Protocol):
    @property
    def size(self) -> int: ...
    @property
    def volume_type(self) -> request.VolumeType | None: ...


@dataclasses.dataclass(frozen=True)
class RetypePlan:
    """What a retype does, decided once.

    An image that has no obstacle changes in place. Otherwise it is copied to
    a new image that replaces it, or Cinder must migrate the volume.

    :ivar acceptance: the keys of the volume that are kept and dropped
    :ivar enable: features to enable in place
    :ivar disable: features to disable in place
    :ivar to_default: whether the features become those of a new volume without
        requested features
    :ivar obstacle: why the image cannot be changed in place; None if it can
    :ivar target: the image to copy to, without features that only librbd sets,
        and where each part of it was set; None if a copy makes the retype not
        possible or is not required
    :ivar stock_changes: whether the stock driver may change features
    """

    acceptance: accepted_keys.Acceptance
    enable: features.Features = frozenset()
    disable: features.Features = frozenset()
    to_default: bool = False
    obstacle: errors.OptionError | None = None
    target: options.Values | None = None
    stock_changes: bool = False

    @property
    def is_copied(self) -> bool:
        """Whether a new image replaces the image of the volume."""
        return self.target is not None

    @property
    def is_migrated(self) -> bool:
        """Whether only a migration by Cinder makes the retype possible."""
        return self.obstacle is not None and self.target is None


@dataclasses.dataclass(frozen=True)
class Retype:
    """A volume with a record, and its new type.

    :ivar specs: extra specs of the new type, with the maxima that its QoS
        specs set for keys of the volume
    :ivar settings: of the back end of the volume
    """

    volume: Volume
    specs: Mapping[str, str]
    settings: backend_settings.BackendSettings

    @functools.cached_property
    def acceptance(self) -> accepted_keys.Acceptance:
        """The keys of the volume that the new type accepts.

        :raises OptionError: if no volume of this size can have the type
        """
        return self._accepted(request.metadata_of(self.volume))

    def _accepted(
        self, metadata: Mapping[str, str]
    ) -> accepted_keys.Acceptance:
        return accepted_keys.accepted_by_type(
            metadata, self.specs, self.settings, self.volume.size
        )

    @property
    def _former_specs(self) -> dict[str, str]:
        return request.specs_of(self.volume.volume_type)

    @property
    def _bytes(self) -> int:
        return self.volume.size * sizes.GIB

    @property
    def _stock_changes(self) -> bool:
        """Whether the stock driver may change the features of the image.

        It does so for multi-attach and replicated types, old and new.
        """
        return any(
            request.changes_features(specs)
            for specs in (self._former_specs, self.specs)
        )

    def make_plan(
        self, state: options.Values | None, is_copied: bool = False
    ) -> RetypePlan:
        """Return the plan of the retype.

        :param state: of the image; None if it is not known, for the keys alone
        :param is_copied: whether the image already is the copy
        :raises OptionError: if no volume of this size can have the type
        """
        if state is None:
            return RetypePlan(self.acceptance)
        decided = self._in_place(state)
        if not decided.obstacle and not is_copied:
            return decided
        return dataclasses.replace(decided, target=self._target(state))

    def _in_place(self, state: options.Values) -> RetypePlan:
        """Return the plan of a change in place, or what prevents it.

        Only the metadata and the type matter. The defaults of the back end
        apply to new volumes, not to existing ones.

        :raises OptionError: as for :meth:`acceptance`
        """
        requested = self._asked
        has = state.image_features
        decided = RetypePlan(
            self.acceptance, stock_changes=self._stock_changes
        )
        try:
            resolved = requested.resolve(backend_too=False)
            wanted = resolved.features_over(has & features.CHOOSABLE)
            obstacle = changes.fixed_contradiction(resolved, state)
            if not obstacle and not requested.multiattach:
                obstacle = self._feature_obstacle(resolved, wanted, state)
        except errors.OptionError as error:
            # The existing image is the only obstacle. A new image of the type
            # is possible.
            obstacle = error
        obstacle = (
            obstacle
            or self._pool_obstacle(requested, state)
            or self.layout_obstacle(state)
        )
        if obstacle:
            return dataclasses.replace(decided, obstacle=obstacle)
        changed = features.CHOOSABLE
        to_default = self._default_features(requested, state)
        if to_default is not None:
            # Features that librbd cannot change are kept.
            wanted, changed = to_default, features.MUTABLE
        elif requested.multiattach:
            # The stock driver disables the single-client features itself.
            return decided
        return dataclasses.replace(
            decided,
            enable=(wanted - has) & changed,
            disable=(has - wanted) & changed,
            to_default=to_default is not None,
        )

    def _feature_obstacle(
        self,
        resolved: options.Values,
        wanted: features.Features,
        state: options.Values,
    ) -> errors.OptionError | None:
        """Return why the image cannot get the requested features, or None.

        :raises OptionError: if it is too large for the requested object map
        """
        has = state.image_features & features.CHOOSABLE
        # deep-flatten can be disabled but not enabled again.
        fixed = (wanted ^ has) - features.MUTABLE
        if fixed - (has & {features.DEEP_FLATTEN}):
            return changes.feature_contradiction(resolved, state)
        operator_limits.check_object_map(
            state.layout,
            self._bytes,
            wanted,
            resolved.features_origin,
        )
        return None

    def _target(self, state: options.Values) -> options.Values | None:
        """Return the image to copy to, so that the volume matches its type.

        It gets the layout of a new volume of the type, as in a migration by
        Cinder. The data stays in its pool if neither type sets a pool.

        :returns: None if a copy does not make the retype possible, or if the
            stock driver changes features as well
        """
        if self._stock_changes:
            return None
        stock = self.settings.stock_state()
        try:
            how = self._asked.plan(self._bytes)
        except errors.OptionError:
            return None
        pool = how.data_pool
        if pool is None and keys.DATA_POOL not in self._former_specs:
            pool = state.data_pool
        target = options.image_values(
            how.layout_over(stock.layout),
            how.features_over(stock.image_features),
            pool,
            origins=how.origins,
        )
        return None if self._in_place(target).obstacle else target

    def _default_features(
        self, requested: request.Request, state: options.Values
    ) -> features.Features | None:
        """Return the features of a new volume of the type, if they apply.

        They do if the features were requested by the volume or its former
        type, the new type requests none, and tenants may not request any with
        the new type.

        :returns: None if the features are kept
        """
        choosable = {keys.FEATURES, keys.OBJECT_MAP}
        if (
            not image_record.features_requested(self.volume)
            or self.settings.ceph_features is None
            or requested.multiattach
            # Mirroring requires journaling, which is never a default.
            or requested.replicated
            or requested.resolve(backend_too=False).features_origin
            or choosable & requested.tenant_options
        ):
            return None
        wanted = requested.resolve().features_over(self.settings.ceph_features)
        try:
            operator_limits.check_object_map(state.layout, self._bytes, wanted)
        except errors.OptionError:
            # No object map is requested, and the volume is too large for one.
            wanted -= {features.OBJECT_MAP, features.FAST_DIFF}
        return wanted

    def _pool_obstacle(
        self, requested: request.Request, state: options.Values
    ) -> errors.OptionError | None:
        """Return why the data cannot stay in its pool; None if it can.

        A data pool that the former type set is not kept. If neither type sets
        a data pool, the data stays in its pool. The error does not name a
        pool, because tenants read it.
        """
        if (
            keys.DATA_POOL in self.specs
            or keys.DATA_POOL not in self._former_specs
        ):
            return None
        if state.data_pool == requested.resolve().data_pool:
            return None
        return errors.OptionError(
            keys.DATA_POOL,
            'none',
            phrases.Phrase(
                'the data is in the data pool of the former volume type'
            ),
            _MIGRATION,
            errors.Origin.VOLUME_TYPE,
        )

    def layout_obstacle(
        self, state: options.Values
    ) -> errors.OptionError | None:
        """Return why the image cannot keep its layout; None if it can.

        An image keeps its layout if tenants may request it on a new volume of
        the type, or if it was not requested.
        """
        if not image_record.layout_requested(self.volume):
            return None
        metadata = {**self.acceptance.kept, **self._as_keys(state)}
        dropped = self._accepted(metadata).dropped
        if not dropped:
            return None
        key = min(dropped)
        return errors.OptionError(
            key,
            metadata[key],
            phrases.Phrase(
                'the image has a layout that the new volume type does not '
                'allow ({value})',
                value=dropped[key],
            ),
            _MIGRATION,
            errors.Origin.VOLUME_TYPE,
        )

    @functools.cached_property
    def _asked(self) -> request.Request:
        kept = self.acceptance.kept
        return request.read_request(
            kept, self.specs, self.settings, is_checked=True
        )

    def _as_keys(self, state: options.Values) -> dict[str, str]:
        """Return the parts of a layout that differ from a new volume's."""
        requested = self._asked
        own = requested.resolve(backend_too=False)
        stock = self.settings.stock_state()
        new = requested.resolve().layout_over(stock.layout)
        metadata = {}
        if (
            keys.OBJECT_SIZE not in own
            and state.layout.object_size != new.object_size
        ):
            metadata[keys.OBJECT_SIZE] = str(state.layout.object_size)
        if keys.STRIPING not in own and state.layout.striping != new.striping:
            metadata[keys.STRIPE_UNIT] = str(state.layout.stripe_unit)
            metadata[keys.STRIPE_COUNT] = str(state.layout.stripe_count)
        return metadata


def origins_of_features(
    recorded: Mapping[str, errors.Origin], to_default: bool
) -> dict[str, errors.Origin]:
    """Return where each part is set after features were changed in place.

    Clones of the volume inherit according to them.

    :param recorded: where each part was set
    """
    cluster = errors.Origin.CLUSTER
    return {
        **dict.fromkeys(options.PARTS, cluster),
        **recorded,
        keys.FEATURES: (cluster if to_default else errors.Origin.VOLUME_TYPE),
    }
