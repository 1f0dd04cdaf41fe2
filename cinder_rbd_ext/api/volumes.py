# SPDX-License-Identifier: Apache-2.0

"""Requests that create, manage, extend or re-image volumes.

Cinder itself refuses what its schemas refuse.
"""

from collections.abc import Callable
import contextlib
import functools
from typing import Any

from cinder import exception
from cinder.api import microversions
from cinder.policies import volume_actions as action_policies
from cinder.policies import volumes as volume_policies
from oslo_utils import strutils
from oslo_utils import units
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext import user_messages
from cinder_rbd_ext.api import asked as requests
from cinder_rbd_ext.api import backups
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import metadata
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import restrictions
from cinder_rbd_ext.api import snapshots
from cinder_rbd_ext.api import volume_source
from cinder_rbd_ext.attach import requester
from rbd_volume_options import checks
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import offers
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import rate_limits
from rbd_volume_options import request
from rbd_volume_options import wire
from rbd_volume_options.families import sector_size

# For a volume with another driver or no requested layout.
_UNBOUNDED = operator_limits.Limits(
    require_whole_stripes=False, max_objects=1 << 63
)


def check_create(asked: requests.Asked) -> Any:
    """Check the requested options of a new volume, or its size and source."""
    own = checks.ours(asked.part.get('metadata'))
    if not asked.part or own is None:
        return None
    if own:
        _check_keys(asked, own)
    else:
        _check_type(asked)
    items = requests.part_of(asked.part, 'metadata')
    notice = checks.unprefixed_notice(items)
    if notice and _may_be_ours(
        asked, asked.types.public(asked.part.get('volume_type'))
    ):
        asked.notice = notice
        return functools.partial(_tell, asked)
    return None


def _tell(asked: requests.Asked, response: Any) -> None:
    """Create a user message of a notice, of a new volume of ours."""
    volume = record.stored_volume(response.obj['volume']['id'])
    volume._context = asked.context
    user_messages.refused(
        volume, user_messages.Operation.PROPERTY, str(asked.notice)
    )


def _check_image(asked: requests.Asked) -> None:
    """Check the Glance image of a volume that needs no other look."""
    volume_type = asked.types.public(asked.part.get('volume_type'))
    if not _may_be_ours(asked, volume_type) or (
        not asked.context.authorize(_policy(asked), fatal=False)
    ):
        return
    with contextlib.suppress(exception.NotFound):
        source = volume_source.of_request(asked.req, asked.part)
        if source is not None:
            _check_empty(source)


def _may_be_ours(asked: requests.Asked, volume_type: Any) -> bool:
    specs = volume_type['extra_specs'] if volume_type else None
    matching = asked.reported.known_matching(specs or {})
    return any(pool.is_ours for pool in matching)


def _check_empty(source: checks.VolumeSource) -> None:
    """Check that a Glance image has data.

    :raises HTTPBadRequest: if not. Cinder would say that there is no back end.
    """
    if source.is_empty:
        raise webob.exc.HTTPBadRequest(
            explanation=f'{wire.REFUSED}the Glance image has 0 bytes. Create '
            'the volume from an image with data, or without an image.'
        )


def _check_keys(asked: requests.Asked, own: dict[str, str]) -> None:
    context = asked.context
    context.authorize(_policy(asked))
    policies.check_keys(context, own)
    with refusals.bad_request():
        checks.check_syntax(own, keys.Scope.VOLUME)
    wanted = _wanted(asked)
    if wanted is None:
        return
    source, size, volume_type = wanted
    offer = asked.offer(volume_type, own)
    _check_empty(source)
    with refusals.bad_request(source.hint):
        checks.check_created(
            offer, own, size, source, policies.settable(context)
        )
        if source.written is not None:
            checks.check_readable(offer, own, source.written)
        if asked.part.get('backup_id'):
            total = size * units.Gi
            for requested, _ in offer.requests(own):
                chosen = plan.configuration_of(requested.resolve(), total)
                backups.check_quick(
                    rate_limits.delaying(
                        rate_limits.REIMAGE, total, chosen, own
                    )
                )
    # The scheduler may have been waited for since the first look.
    snapshots.check_use(context, asked.part.get('snapshot_id'))


def _check_type(asked: requests.Asked) -> None:
    """Check the size of a volume without keys, and a backup's disk."""
    volume = asked.part
    if not volume.get('backup_id') and not asked.restrictions.may_refuse(
        volume
    ):
        snapshots.check_use(asked.context, volume.get('snapshot_id'))
        if volume_source.image_reference(volume) is not None:
            _check_image(asked)
        return
    if not asked.context.authorize(_policy(asked), fatal=False):
        return
    try:
        wanted = _wanted(asked, asked.types.public)
    except exception.NotFound:
        return
    if wanted is None:
        return
    source, size, volume_type = wanted
    if source.is_empty and _may_be_ours(asked, volume_type):
        _check_empty(source)
    offer = restrictions.offer_of(volume_type, asked.reported, size=size)
    if offer is not None:
        with refusals.bad_request(source.hint):
            checks.check_type(offer, size, source)
    if source.written is not None:
        with refusals.bad_request():
            checks.check_readable(asked.offer(volume_type), {}, source.written)


def _policy(asked: requests.Asked) -> str:
    """Return the policy that Cinder checks first.

    An image that names a snapshot has the policy of a snapshot.
    """
    from_image = str(volume_policies.CREATE_FROM_IMAGE_POLICY)
    if volume_source.image_reference(asked.part) is not None and (
        not volume_source.uses_nova_images(asked.req)
        or asked.context.authorize(from_image, fatal=False)
    ):
        return from_image
    return str(volume_policies.CREATE_POLICY)


def _wanted(
    asked: requests.Asked,
    known: Callable[[object], Any] = lambda identity: None,
) -> tuple[checks.VolumeSource, int, Any] | None:
    """Return the source, the size in GiB and the type of a new volume.

    :param known: returns a type that need not be looked up, or None
    :returns: None if Cinder refuses one of them
    :raises NotFound: for a source or type that does not exist for the caller
    """
    volume = asked.part
    source = volume_source.of_request(asked.req, volume)
    if source is None:
        return None
    identity = volume.get('volume_type') or source.volume_type_id
    volume_type = known(identity) or known_types.of_new_volume(
        asked.context, identity
    )
    size = volume.get('size')
    size = volume_source.whole_number(source.size if size is None else size)
    if size is None or volume_type is None:
        return None
    return source, size, volume_type


def check_managed(asked: requests.Asked) -> None:
    """Check keys before Cinder manages an RBD image.

    Operators do, so the list of keys for tenants does not apply. The driver
    checks whether the image matches the keys.
    """
    volume = asked.part
    own = checks.ours(volume.get('metadata'))
    if not volume or own is None:
        return
    asked.context.authorize(asked.policy)
    policies.check_keys(asked.context, own)
    with refusals.bad_request():
        checks.check_syntax(own, keys.Scope.VOLUME)
    wanted, specs = volume.get('volume_type'), {}
    if wanted:
        if not isinstance(wanted, str):
            return
        try:
            volume_type = known_types.visible(asked.context, wanted)
        except exception.NotFound:
            return
        specs = request.specs_of(volume_type)
    if not (own or options.ours(specs)):
        return
    matching = asked.reported.destination(asked.context, volume)
    if not matching:
        return
    offer = offers.TypeOffer.of_pools(specs, matching)
    with refusals.bad_request():
        offer.check_offered(own, errors.Origin.VOLUME_METADATA)
        for settings in offer.settings:
            requested = request.read_request(
                own, specs, settings, is_checked=True
            )
            plan.check_managed(requested.resolve())


def check_extend(asked: requests.Asked) -> None:
    """Check the new size of a volume, before quota is reserved.

    :raises HTTPBadRequest: for a size that the layout or the object map do not
        allow, or while the volume is migrated
    :raises HTTPServiceUnavailable: if the limits of the back end decide and
        are unknown
    """
    size = volume_source.whole_number(asked.part.get('new_size'))
    if size is None:
        return
    volume = asked.volume
    policy = action_policies.EXTEND_POLICY
    if volume.status == 'in-use' and asked.req.api_version_request.matches(
        microversions.VOLUME_EXTEND_INUSE
    ):
        policy = action_policies.EXTEND_ATTACHED_POLICY
    asked.context.authorize(policy, target_obj=volume)
    if size <= volume.size:
        return
    recorded = image_record.read(asked.stored)
    # The copy has the size that the volume had when the migration began, also
    # if Cinder or Nova makes it. They do not look at it again, and the volume
    # would get that size back.
    if recorded and volume.migration_status in requester.MOVING:
        raise webob.exc.HTTPBadRequest(
            explanation=f'Volume {volume.id} is being migrated. Extend it '
            'afterwards.'
        )
    # Our driver applies the record whatever section wrote it, because an
    # operator may have renamed the section. Another driver does not: the
    # record may be that of the former image of a migrated volume.
    if recorded is None or not (
        image_record.state_here(asked.stored)
        or asked.reported.may_be_ours(volume)
    ):
        return
    origins = recorded.state.origins or {}
    bounds = _UNBOUNDED
    if not options.GIVEN.isdisjoint(origins.values()):
        here = asked.reported.holding(volume)
        if here is None:
            raise refusals.unavailable(refusals.NOT_REPORTED)
        # A back end with another driver applies its own rules.
        if here.settings:
            bounds = here.settings.limits
    with refusals.bad_request():
        plan.check_growth(recorded.state, origins, size * units.Gi, bounds)


def check_image_metadata(asked: requests.Asked) -> None:
    """Check that no image metadata looks like an ``rbd:`` key."""
    items = requests.part_of(asked.part, 'metadata')
    with refusals.bad_request():
        checks.check_other_metadata(items, 'image')


def check_bootable(asked: requests.Asked) -> None:
    """Check that servers can boot from a volume that becomes bootable."""
    if strutils.bool_from_string(asked.part.get('bootable')):
        _check_bootable(asked)


def _check_bootable(asked: requests.Asked) -> None:
    volume = asked.volume
    with refusals.bad_request():
        disk = image_record.disk_in(asked.stored.admin_metadata)
        if not disk:
            return
        holding = asked.reported.holding(volume)
        settings = holding.settings if holding else None
        own = options.parse(
            request.specs_of(volume.volume_type),
            keys.Scope.TYPE,
            errors.Origin.VOLUME_TYPE,
        )
        defaults = settings.options if settings else {}
        sector_size.check_bootable(disk, {**defaults, **own})


def check_reimage(asked: requests.Asked) -> None:
    """Check that servers can boot from a volume and read its new data."""
    _check_bootable(asked)
    metadata.complete(asked, metadata.Outcome(is_configured=True), {})
    # The image may have been configured.
    items = record.items_of(asked.volume.id)
    _check_keeps_data(asked, items)
    image_id = asked.part.get('image_id')
    if isinstance(image_id, str):
        written = volume_source.disk_of_image(asked.context, image_id)
        if written is not None:
            with refusals.bad_request():
                sector_size.check_receives(
                    image_record.disk_in(items), written
                )


def _check_keeps_data(asked: requests.Asked, items: dict[str, str]) -> None:
    """Check that a re-image writes what stays, and removes nothing else.

    :raises HTTPBadRequest: if Cinder is migrating the volume, if its snapshots
        would be lost, or if it would hold a thread for long
    """
    volume = asked.volume
    reason = ''
    if volume.migration_status in requester.MOVING:
        reason = 'the volume is being migrated. Try again later'
    elif not releases.REIMAGE_KEEPS_IMAGE:
        reason = volume.snapshots and releases.REIMAGE_LOSES_SNAPSHOTS
    elif slow := image_record.delaying(rate_limits.REIMAGE, volume, items):
        reason = backups.SLOW.format(', '.join(slow))
    if reason and asked.reported.may_be_ours(volume):
        raise webob.exc.HTTPBadRequest(explanation=f'{wire.REFUSED}{reason}.')
