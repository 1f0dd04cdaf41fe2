# SPDX-License-Identifier: Apache-2.0

"""Rules that allow or forbid changes of object maps."""

from collections.abc import Container
from collections.abc import Mapping
import dataclasses
import enum

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import use
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import selection


class Action(enum.Enum):
    """An operation on object maps."""

    ENABLE = 'enable'
    DISABLE = 'disable'
    REBUILD = 'rebuild'


MULTIATTACH = outcomes.Reason(
    'multiattach',
    'several servers can attach the volume; an object map assumes one writer',
    'Nothing; the volume must not have an object map.',
)
NOT_WANTED = outcomes.Reason(
    'not-wanted',
    'the keys of the volume or its type decide otherwise',
    'Change the keys, or retype the volume.',
)
BUSY = outcomes.Reason(
    'busy',
    'another operation changes the image',
    'Run the command again when the operation has ended.',
)
TOO_LARGE = outcomes.Reason(
    'too-many-objects',
    f'an object map has at most {features.MAX_OBJECT_MAP_OBJECTS} objects',
    'Nothing; copy the image with a larger object size.',
)
RECORDED = outcomes.Reason(
    'recorded',
    'the features of the image are recorded in Cinder, which changes them',
    'Retype the volume to a type with the setting: cinder-rbd-ext retype '
    'plan.',
)
NO_MAP = outcomes.Reason(
    'no-object-map',
    'the image has no object map',
    'Enable it: cinder-rbd-ext object-map plan --action enable.',
)
IN_USE_UNLOCKED = outcomes.Reason(
    'in-use-without-lock',
    'a client has the image open, which has no exclusive lock',
    'Run the command again when the image is closed, such as after a stop '
    'of the server.',
)
IN_USE_FREE = outcomes.Reason(
    'in-use-lock-free',
    'a client has the image open and does not hold the lock',
    'Run the command again after the client has written, or closed the image.',
)
OWNER_GONE = outcomes.Reason(
    'lock-owner-gone',
    'the client that holds the lock does not watch the image; a change would '
    'blocklist the client',
    'Check the host of the client and the log of Ceph. If the client is gone, '
    'remove its lock: rbd lock remove.',
)
LOCKED = outcomes.Reason(
    'locked',
    'an administrator has locked the image',
    'Find out why: rbd lock ls <image>.',
)
REPLACED = outcomes.Reason(
    'replaced',
    'another image has its name since the scan',
    'Run the command again.',
)
OTHER_POOL = outcomes.Reason(
    'other-pool',
    'its owner is not in this pool',
    'Find out who copied the image.',
)
POOL_UNKNOWN = outcomes.Reason(
    'pool-unknown',
    'the back end of the volume does not report its pool',
    'Start its service: openstack volume service list.',
)

#: Statuses in which no operation of Cinder changes the image of a volume.
_CALM = frozenset({'available', 'in-use', 'reserved', 'error'})

Obstacle = tuple[outcomes.Reason, str]


@dataclasses.dataclass(frozen=True)
class MapPlan:
    """The planned change of an image.

    :ivar change: the features to enable or disable, in order
    :ivar rebuild: whether maps have to be rebuilt
    """

    change: tuple[features.Features, ...] = ()
    rebuild: bool = False

    def __bool__(self) -> bool:
        return bool(self.change) or self.rebuild

    def describe(self, action: Action) -> str:
        """Return the plan as text."""
        parts = [
            f'{action.value} {features.joined(each)}' for each in self.change
        ]
        if self.rebuild:
            parts.append('rebuild maps')
        return '; '.join(parts)


def plan(action: Action, target: selection.Target) -> MapPlan:
    """Return the planned change of an image."""
    image = target.image
    enabled = image.image_features
    if action is Action.DISABLE:
        unwanted = features.MAP_OFF & enabled
        return MapPlan((unwanted,) if unwanted else ())
    if action is Action.REBUILD:
        return MapPlan(rebuild=has_invalid_map(image))
    # The object map requires the exclusive lock.
    missing = (
        frozenset({features.EXCLUSIVE_LOCK}) - enabled,
        features.MAP_OFF - enabled,
    )
    change = tuple(each for each in missing if each)
    return MapPlan(change, bool(change) or has_invalid_map(image))


def has_invalid_map(image: images.Image) -> bool:
    """Return whether the map of the head or of a snapshot is invalid."""
    states = {image.map_state, *(each.map_state for each in image.snapshots)}
    return images.MapState.INVALID in states


def obstacle_of_owner(
    target: selection.Target,
    known: records.Records,
    copies: Container[str] = (),
) -> Obstacle | None:
    """Return why an image does not belong to the owner in its name.

    Pools can have copies with the same names, also of other clouds. Nova does
    not tell in which pool the disks of its servers are, and projects may
    choose the IDs of Glance images, also of one that they never upload.

    :param copies: names of the disks of servers that several pools have
    """
    image, volume = target.image, target.volume
    pool = known.backends.get(volume.pool) if volume else None
    # First, because such a back end does not report the ID of the cloud.
    if volume and pool is None and volume.pool not in known.elsewhere:
        return POOL_UNKNOWN, volume.pool
    if known.is_foreign(image.owner):
        return outcomes.FOREIGN, image.owner
    if volume:
        if pool != image.pool:
            return OTHER_POOL, f'the volume is in {pool or volume.pool}'
        return None
    name = names.of_image(image.name)
    if image.name in copies:
        return OTHER_POOL, 'several pools have the disk; use --pool'
    # Empty if Glance does not show the locations.
    if name.owner is names.Owner.GLANCE_IMAGE and known.located:
        pools = known.located.get(name.ident, frozenset())
        if image.pool not in pools:
            where = ', '.join(sorted(pools)) or 'no pool of this cluster'
            return OTHER_POOL, f'the image is in {where}'
    return None


def obstacle(
    action: Action,
    target: selection.Target,
    types: Mapping[str, Mapping[str, str]],
) -> Obstacle | None:
    """Return why a change is forbidden, apart from clients of the image.

    :param types: extra specs of each volume type
    """
    image, volume = target.image, target.volume
    if image.migrating:
        return BUSY, 'a migration of librbd is not committed'
    if volume and (busy := obstacle_of_status(volume)):
        return busy
    if volume and volume.multiattach and action is not Action.DISABLE:
        return MULTIATTACH, ''
    if volume and (why := _decided_otherwise(action, volume, types)):
        return NOT_WANTED, why
    enables = action is Action.ENABLE
    if enables and _objects(image) > features.MAX_OBJECT_MAP_OBJECTS:
        return TOO_LARGE, f'{image.objects} objects'
    if action is Action.REBUILD:
        if features.OBJECT_MAP not in image.image_features:
            return NO_MAP, ''
    elif (
        volume
        and definitions.ATTRIBUTE_FEATURES in volume.made
        and plan(action, target).change
    ):
        return RECORDED, ''
    return None


def obstacle_of_status(volume: records.Volume) -> Obstacle | None:
    """Return why an operation of Cinder forbids a change; None if none."""
    if volume.migrating or volume.status not in _CALM:
        status = 'migrating' if volume.migrating else volume.status
        return BUSY, f'the volume is {status}'
    return None


def _objects(image: images.Image) -> int:
    """Return the number of objects of the head or the largest snapshot."""
    sizes = [image.size, *(each.size for each in image.snapshots)]
    return image.image_layout.object_count(max(sizes))


def _decided_otherwise(
    action: Action,
    volume: records.Volume,
    types: Mapping[str, Mapping[str, str]],
) -> str:
    """Return the keys that contradict an action; empty if no key does."""
    if action is Action.REBUILD:
        return ''
    origin = errors.Origin
    specs = types.get(volume.volume_type, {})
    try:
        resolved = options.resolve(
            options.parse(items, scope, where)
            for items, scope, where in (
                (volume.metadata, keys.Scope.VOLUME, origin.VOLUME_METADATA),
                (specs, keys.Scope.TYPE, origin.VOLUME_TYPE),
            )
        )
    except errors.OptionError as error:
        return str(error)
    set_in = resolved.features_origin
    if set_in is None:
        return ''
    wanted = resolved.features_over(frozenset())
    if (features.OBJECT_MAP in wanted) is (action is Action.ENABLE):
        return ''
    return f'set in {set_in.label}'


def obstacle_in_use(
    enabled: features.Features, usage: use.Use
) -> Obstacle | None:
    """Return why clients of an image forbid its change; None if they do not.

    librbd forwards changes to the client that holds the exclusive lock. If no
    client holds it, librbd acquires it itself.

    :param enabled: features of the image
    """
    if usage.is_manual:
        return LOCKED, usage.owner
    if usage.owner and not usage.owner_watches:
        return OWNER_GONE, usage.owner
    if not usage.watchers:
        return None
    addresses = ', '.join(usage.watchers)
    if features.EXCLUSIVE_LOCK not in enabled:
        return IN_USE_UNLOCKED, addresses
    if not usage.owner:
        return IN_USE_FREE, addresses
    return None
