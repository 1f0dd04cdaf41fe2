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
from cinder_rbd_ext.api import api_call
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
from rbd_volume_options import volume_items
from rbd_volume_options.families import sector_size

# For a volume with another driver or no requested layout.
_UNBOUNDED = operator_limits.Limits(
    require_whole_stripes=False, max_objects=1 << 63
)


def check_create(call: api_call.ApiCall) -> Any:
    """Check the requested options of a new volume, its size and its source."""
    own = checks.ours(call.part.get('metadata'))
    if not call.part or own is None:
        return None
    wanted = None
    if own:
        call.context.authorize(_policy(call))
        policies.check_keys(call.context, own)
        checks.check_syntax(own, keys.Scope.VOLUME)
        wanted = _wanted(call)
    elif call.part.get('backup_id') or call.restrictions.may_refuse(call.part):
        if call.context.authorize(_policy(call), fatal=False):
            with contextlib.suppress(exception.NotFound):
                wanted = _wanted(call, call.types.public)
    elif volume_source.image_reference(call.part) is not None:
        _check_image(call)
    if wanted is not None:
        _check_new(call, own, *wanted)
    if own or wanted is None:
        # The scheduler may have been waited for since the first look.
        snapshots.check_use(call.context, call.part.get('snapshot_id'))
    items = api_call.part_of(call.part, 'metadata')
    notice = checks.unprefixed_notice(items)
    if notice and _may_be_ours(
        call, call.types.public(call.part.get('volume_type'))
    ):
        call.notice = notice
        return functools.partial(_tell, call)
    return None


def _check_image(call: api_call.ApiCall) -> None:
    """Check the Glance image of a volume that needs no other look."""
    volume_type = call.types.public(call.part.get('volume_type'))
    if _may_be_ours(call, volume_type) and (
        call.context.authorize(_policy(call), fatal=False)
    ):
        with contextlib.suppress(exception.NotFound):
            _check_has_data(volume_source.of_request(call.req, call.part))


def _check_has_data(source: checks.VolumeSource | None) -> None:
    """Refuse a Glance image of 0 bytes: Cinder would find no back end."""
    if source is not None and source.is_empty:
        raise refusals.refused(
            'the Glance image has 0 bytes. Create the volume from an image '
            'with data, or without an image.'
        )


def _check_new(
    call: api_call.ApiCall,
    own: dict[str, str],
    source: checks.VolumeSource,
    size: int,
    volume_type: Any,
) -> None:
    """Check a new volume with or without keys."""
    call.hint = source.hint
    offer = call.offer(volume_type, own) if own else None
    if own or _may_be_ours(call, volume_type):
        _check_has_data(source)
    if offer is not None:
        checks.check_created(
            offer, own, size, source, policies.settable(call.context)
        )
    elif setting := restrictions.offer_of(
        volume_type, call.reported, size=size
    ):
        checks.check_type(setting, size, source)
    if source.written is not None:
        checks.check_readable(
            offer or call.offer(volume_type), own, source.written
        )
    if offer is not None and call.part.get('backup_id'):
        total = size * units.Gi
        for requested in offer.requests(own):
            chosen = plan.configuration_of(requested.resolve(), total)
            backups.check_quick(
                rate_limits.delaying(rate_limits.REIMAGE, total, chosen, own)
            )


def _tell(call: api_call.ApiCall, response: Any) -> None:
    """Create a user message of a notice, of a new volume of ours."""
    volume = record.stored_volume(response.obj['volume']['id'])
    volume._context = call.context
    user_messages.refused(
        volume, user_messages.Operation.PROPERTY, str(call.notice)
    )


def _may_be_ours(call: api_call.ApiCall, volume_type: Any) -> bool:
    specs = volume_type['extra_specs'] if volume_type else None
    matching = call.reported.known_matching(specs or {})
    return any(pool.is_ours for pool in matching)


def _policy(call: api_call.ApiCall) -> str:
    """Return the policy that Cinder checks first.

    An image that names a snapshot has the policy of a snapshot.
    """
    from_image = str(volume_policies.CREATE_FROM_IMAGE_POLICY)
    if volume_source.image_reference(call.part) is not None and (
        not volume_source.uses_nova_images(call.req)
        or call.context.authorize(from_image, fatal=False)
    ):
        return from_image
    return str(volume_policies.CREATE_POLICY)


def _wanted(
    call: api_call.ApiCall,
    known: Callable[[object], Any] = lambda identity: None,
) -> tuple[checks.VolumeSource, int, Any] | None:
    """Return the source, the size in GiB and the type of a new volume.

    :param known: returns a type that need not be looked up, or None
    :returns: None if Cinder refuses one of them
    :raises NotFound: for a source or type that does not exist for the caller
    """
    volume = call.part
    source = volume_source.of_request(call.req, volume)
    if source is None:
        return None
    identity = volume.get('volume_type') or source.volume_type_id
    volume_type = known(identity) or known_types.of_new_volume(
        call.context, identity
    )
    size = volume.get('size')
    size = volume_source.whole_number(source.size if size is None else size)
    if size is None or volume_type is None:
        return None
    return source, size, volume_type


def check_managed(call: api_call.ApiCall) -> None:
    """Check keys before Cinder manages an RBD image.

    Operators do, so the list of keys for tenants does not apply. The driver
    checks whether the image matches the keys.
    """
    volume = call.part
    own = checks.ours(volume.get('metadata'))
    if not volume or own is None:
        return
    call.context.authorize(call.policy)
    policies.check_keys(call.context, own)
    checks.check_syntax(own, keys.Scope.VOLUME)
    wanted, specs = volume.get('volume_type'), {}
    if wanted:
        if not isinstance(wanted, str):
            return
        try:
            volume_type = known_types.visible(call.context, wanted)
        except exception.NotFound:
            return
        specs = request.specs_of(volume_type)
    if not (own or options.ours(specs)):
        return
    matching = call.reported.destination(call.context, volume)
    if not matching:
        return
    offer = offers.TypeOffer.of_pools(specs, matching)
    offer.check_offered(own, errors.Origin.VOLUME_METADATA)
    for settings in offer.settings:
        requested = request.read_request(own, specs, settings, is_checked=True)
        plan.check_managed(requested.resolve())


def check_extend(call: api_call.ApiCall) -> None:
    """Check the new size of a volume, before quota is reserved.

    :raises HTTPBadRequest: for a size that the layout or the object map do not
        allow, or while the volume is migrated
    :raises HTTPServiceUnavailable: if the limits of the back end decide and
        are unknown
    """
    size = volume_source.whole_number(call.part.get('new_size'))
    if size is None:
        return
    volume = call.volume
    policy = action_policies.EXTEND_POLICY
    if volume.status == 'in-use' and call.req.api_version_request.matches(
        microversions.VOLUME_EXTEND_INUSE
    ):
        policy = action_policies.EXTEND_ATTACHED_POLICY
    call.context.authorize(policy, target_obj=volume)
    if size <= volume.size:
        return
    recorded = image_record.read(call.stored)
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
        image_record.state_here(call.stored)
        or call.reported.may_be_ours(volume)
    ):
        return
    origins = recorded.state.origins or {}
    bounds = _UNBOUNDED
    if not errors.GIVEN.isdisjoint(origins.values()):
        here = call.reported.holding(volume)
        if here is None:
            raise refusals.unavailable(refusals.NOT_REPORTED)
        # A back end with another driver applies its own rules.
        if here.settings:
            bounds = here.settings.limits
    plan.check_growth(recorded.state, origins, size * units.Gi, bounds)


def check_image_metadata(call: api_call.ApiCall) -> None:
    """Check that no image metadata looks like an ``rbd:`` key."""
    items = api_call.part_of(call.part, 'metadata')
    checks.check_other_metadata(items, 'image')


def check_bootable(call: api_call.ApiCall) -> None:
    """Check that servers can boot from a volume that becomes bootable."""
    if strutils.bool_from_string(call.part.get('bootable')):
        _check_bootable(call)


def _check_bootable(call: api_call.ApiCall) -> None:
    volume = call.volume
    disk = image_record.disk_in(call.stored.admin_metadata)
    if not disk:
        return
    holding = call.reported.holding(volume)
    settings = holding.settings if holding else None
    own = options.parse(request.specs_of(volume.volume_type), keys.Scope.TYPE)
    defaults = settings.options if settings else {}
    sector_size.check_bootable({**defaults, **own, **disk})


def check_reimage(call: api_call.ApiCall) -> None:
    """Check that servers can boot from a volume and read its new data."""
    _check_bootable(call)
    metadata.complete(call, metadata.Outcome(is_configured=True), {})
    # The image may have been configured.
    items = record.items_of(call.volume.id)
    _check_keeps_data(call, items)
    image_id = call.part.get('image_id')
    if isinstance(image_id, str):
        written = volume_source.disk_of_image(call.context, image_id)
        if written is not None:
            sector_size.check_receives(image_record.disk_in(items), written)


def _check_keeps_data(call: api_call.ApiCall, items: dict[str, str]) -> None:
    """Check that a re-image writes what stays, and removes nothing else.

    :raises HTTPBadRequest: if Cinder is migrating the volume, if its snapshots
        would be lost, or if it would hold a thread for long
    """
    volume = call.volume
    reason = ''
    if volume.migration_status in requester.MOVING:
        reason = 'the volume is being migrated. Try again later'
    elif not releases.REIMAGE_KEEPS_IMAGE:
        reason = volume.snapshots and releases.REIMAGE_LOSES_SNAPSHOTS
    elif slow := volume_items.delaying(rate_limits.REIMAGE, volume, items):
        reason = backups.SLOW.format(', '.join(slow))
    if reason and call.reported.may_be_ours(volume):
        raise webob.exc.HTTPBadRequest(
            explanation=f'{errors.REFUSED}{reason}.'
        )
