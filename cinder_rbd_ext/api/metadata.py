# SPDX-License-Identifier: Apache-2.0

"""Requests that change the metadata of an existing volume."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
import http
from typing import Any

from cinder import volume as cinder_volume
from cinder.objects import fields
from cinder.volume import rpcapi
from oslo_log import log as logging
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import requested_configuration
from cinder_rbd_ext import type_specs
from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.attach import requester
from cinder_rbd_ext.retype import marker
from rbd_volume_options import changes
from rbd_volume_options import checks
from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import offers
from rbd_volume_options import published
from rbd_volume_options import registry
from rbd_volume_options import volume_items

LOG = logging.getLogger(__name__)

# Statuses of an attachment that is already connected.
_MADE = (
    fields.VolumeAttachStatus.ATTACHING,
    fields.VolumeAttachStatus.ATTACHED,
)

# Statuses of a volume whose metadata an operation may change.
_OPERATIONS = {
    marker.RETYPING: 'retyped',
    fields.VolumeStatus.RESTORING_BACKUP: 'restored',
    fields.VolumeStatus.UPLOADING: 'uploaded',
}

_REPLACED = ('reverting', marker.RETYPING, 'restoring-backup', 'downloading')


After = Callable[[Any], None]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of the check of a change that is allowed.

    :ivar is_configured: whether the driver must configure the image
    :ivar is_compared: whether it must also compare the image with its record
    :ivar accepted: the values that were checked, without unchanged ones
    :ivar type_id: the volume type for which the keys were checked
    """

    is_configured: bool = False
    is_compared: bool = False
    accepted: Mapping[str, str] = dataclasses.field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    type_id: str | None = None


def check_added(call: api_call.ApiCall) -> After:
    """Check items that are added or replace items with the same key.

    A request of an administrator without items makes the driver compare the
    image with the keys of the volume, its type and the back end.
    """
    outcome = Outcome()
    items = checks.ours(call.part)
    named = str(call.ids.get('id', ''))
    misspelled = keys.is_misspelled(named)
    if not call.part or items or misspelled:
        volume = call.volume
        if not call.part:
            is_compared = policies.allows(
                call.context, policies.CORRECT_FIXED_KEYS, volume
            )
            outcome = Outcome(
                is_configured=is_compared, is_compared=is_compared
            )
        elif misspelled:
            checks.check_syntax({named: ''}, keys.Scope.VOLUME)
        elif items:
            outcome = _check(call, {**volume.metadata, **items}, items)
    notice = checks.unprefixed_notice(call.part)
    if notice and not call.notice and _may_be_ours(call):
        call.notice = notice
    return functools.partial(complete, call, outcome)


def check_replaced(call: api_call.ApiCall) -> After:
    """Check the metadata in a request, which replaces all items."""
    outcome = Outcome()
    if 'metadata' in call.part:
        items = checks.ours(call.part['metadata'])
        if items is not None:
            outcome = _check(call, items, items)
    return functools.partial(complete, call, outcome)


def check_removed(call: api_call.ApiCall) -> webob.Response | None:
    """Check that an item may be removed.

    Cinder does not continue an extension after this request, and its response
    has no body. An item that matters to the image is therefore removed here.
    """
    key = call.ids['id']
    if not keys.is_ours(key):
        return None
    after = dict(call.volume.metadata)
    checks.check_removable(key, after, keys.Scope.VOLUME)
    after.pop(key, None)
    outcome = _check(call, after, {})
    if not outcome.is_configured:
        record.accepted(call.volume_id, {}, outcome.removed)
        return None
    if key not in call.volume.metadata:
        # Cinder's response says so.
        return None
    cinder_volume.API().delete_volume_metadata(call.context, call.volume, key)
    response = webob.Response(status_int=http.HTTPStatus.OK)
    complete(call, outcome, response.headers)
    refusals.tell(response.headers, call.notice)
    return response


def _check(
    call: api_call.ApiCall, new: dict[str, str], named: dict[str, str]
) -> Outcome:
    """Check a change, to ``new`` items, of which some were ``named``."""
    volume = call.volume
    before = checks.ours(dict(volume.metadata)) or {}
    after = checks.ours(new) or {}
    if before or after:
        _check_is_not_replaced(volume)
    different = frozenset(key for key, _ in before.items() ^ after.items())
    policies.check_keys(call.context, different, volume)
    _check_fixed(call, before, after, different)
    if different & after.keys():
        offer = _offer_for(call, after)
        checks.check_attached(offer, after, volume.size)
    call.notice = checks.attached_notice(
        different,
        sum(
            attachment.attach_status in _MADE
            for attachment in volume.volume_attachment
        ),
    )
    return Outcome(
        not (different | named.keys()).isdisjoint(
            registry.keys_of_kind(definitions.Kind.IMAGE_CONFIGURATION)
        ),
        accepted={key: after[key] for key in different & after.keys()},
        removed=different - after.keys(),
        type_id=volume.volume_type_id,
    )


def _check_fixed(
    call: api_call.ApiCall,
    before: dict[str, str],
    after: dict[str, str],
    different: frozenset[str],
) -> None:
    fixed = frozenset(filter(registry.is_fixed, different))
    if fixed and policies.allows(
        call.context, policies.CORRECT_FIXED_KEYS, call.volume
    ):
        checks.check_fixed(different - fixed, before, after)
        corrected = fixed & after.keys()
        if corrected:
            state = image_record.state_here(call.stored)
            changes.check_corrected(after, corrected, state)
    elif not fixed or different & after.keys() or _may_be_ours(call):
        checks.check_fixed(different, before, after)


def _may_be_ours(call: api_call.ApiCall) -> bool:
    try:
        return call.reported.may_be_ours(call.volume)
    except webob.exc.HTTPServiceUnavailable:
        return True


def _offer_for(
    call: api_call.ApiCall, metadata: Mapping[str, str]
) -> offers.TypeOffer:
    specs = type_specs.with_maxima(call.volume.volume_type, metadata)
    here = call.reported.holding(call.volume)
    matching = (here,) if here else call.reported.matching(specs)
    offer = offers.TypeOffer.of_pools(specs, matching)
    if offer.reason == offers.NO_BACKEND:
        raise refusals.unavailable(refusals.NOT_REPORTED)
    return offer


def complete(call: api_call.ApiCall, outcome: Outcome, response: Any) -> None:
    """Let a change that Cinder has made take effect.

    :param response: gets the result of a comparison
    """
    volume_id = call.volume_id
    different = outcome.removed | outcome.accepted.keys()
    if different:
        volume = record.stored(volume_id)
        accepted = outcome.accepted
        if volume.volume_type_id != outcome.type_id or _is_replaced(volume):
            # The keys are checked where they take effect.
            accepted = {}
        record.accepted(volume_id, accepted, outcome.removed)
    if outcome.is_configured:
        ignored = _configured(call, outcome.is_compared)
        if outcome.is_compared and ignored is not None:
            response[published.HEADER_COMPARED] = 'true'
        if ignored is None:
            call.notice = (
                'The change of the keys is stored, but not in force yet; '
                'send it again, or attach the volume again'
            )
        else:
            call.notice = (
                checks.ignored_notice(ignored, different) or call.notice
            )


def _configured(
    call: api_call.ApiCall, is_compared: bool
) -> Mapping[str, str] | None:
    """Make the driver configure the image; return the ignored keys.

    The driver does so when Cinder removes the export of the volume. Other
    drivers than ours are not called: they would remove it.

    :returns: None if it did not
    """
    try:
        volume = record.stored_volume(call.volume_id)
        here = call.reported.holding(volume)
        if here is None:
            # Nobody knows which driver the volume has.
            return None if volume.host else {}
        if here.settings is None:
            # Of another driver, or of ours in a release that differs.
            return None if is_compared or here.is_ours else {}
        target = requested_configuration.Target(volume)
        is_in_force = target.difference(here.settings) is None
        if is_compared or not is_in_force:
            if _is_replaced(volume):
                return None
            if is_compared:
                families = volume_items.families_set(
                    image_record.items(volume)
                )
                record.configuring(volume.id, families)
            rpcapi.VolumeAPI().remove_export(call.context, volume, sync=True)
            target = requested_configuration.Target(
                record.stored_volume(volume.id)
            )
            # The driver may have other settings than it last reported.
            is_in_force = (
                volume_items.RECORD_CONFIGURING
                not in target.volume.admin_metadata
                if is_compared
                else target.difference(here.settings) is None
            )
        ignored = target.requested(here.settings)[0].dropped
    except Exception:
        # Cinder has already made the change.
        LOG.exception('Could not configure volume %s', call.volume_id)
        return None
    return ignored if is_in_force else None


def _check_is_not_replaced(volume: protocols.Volume) -> None:
    """Check that a change of ``rbd:`` keys would not be lost.

    A retype removes keys, a restore puts those back that the volume had before
    it, and a migration replaces the metadata by a copy from its beginning. An
    upload or a backup would become slow, and not be counted as such.

    :raises HTTPBadRequest: during such an operation
    """
    operation = _OPERATIONS.get(volume.status)
    if operation is None and volume.migration_status in requester.MOVING:
        operation = 'migrated'
    # Cinder reads a volume that was in use through a clone.
    was_free = volume.previous_status == fields.VolumeStatus.AVAILABLE
    if volume.status == fields.VolumeStatus.BACKING_UP and was_free:
        operation = 'backed up'
    if operation:
        raise webob.exc.HTTPBadRequest(
            explanation=f'Volume {volume.id} is being {operation}. Change its '
            'rbd: keys afterwards.'
        )


def _is_replaced(volume: protocols.Volume | record.Row) -> bool:
    """Return whether the driver would wait: the image is being replaced."""
    return (
        volume.status in _REPLACED
        or volume.migration_status in requester.MOVING
    )
