# SPDX-License-Identifier: Apache-2.0

"""Requests that change the metadata of an existing volume."""

from collections.abc import Generator
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import http
from typing import Any

from cinder import volume as cinder_volume
from cinder.api.openstack import wsgi
from cinder.objects import fields
from cinder.policies import volume_metadata as stock
from cinder.volume import rpcapi
from oslo_log import log as logging
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import requested_configuration
from cinder_rbd_ext import type_specs
from cinder_rbd_ext.api import controller
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.attach import requester
from cinder_rbd_ext.retype import marker
from rbd_volume_options import changes
from rbd_volume_options import checks
from rbd_volume_options import image_configuration
from rbd_volume_options import image_record
from rbd_volume_options import key_spelling
from rbd_volume_options import keys
from rbd_volume_options import offers
from rbd_volume_options import registry
from rbd_volume_options import wire

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


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of the check of a change that is allowed.

    :ivar notice: what the caller should know; None for nothing
    :ivar is_configured: whether the driver must configure the image
    :ivar is_compared: whether it must also compare the image with its record
    :ivar accepted: the values that were checked, without unchanged ones
    :ivar type_id: the volume type for which the keys were checked
    """

    notice: str | None = None
    is_configured: bool = False
    is_compared: bool = False
    accepted: Mapping[str, str] = dataclasses.field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    type_id: str | None = None


class Changes:
    """Checks changes of a volume's metadata before and after Cinder."""

    def __init__(self, reported: pools.ReportedPools) -> None:
        self._reported = reported

    def added(
        self,
        req: protocols.Request,
        volume_id: str,
        items: object,
        policy: str,
        named: str = '',
    ) -> Generator[None, Any, None]:
        """Check items that are added or replace items with the same key.

        A request of an administrator without items makes the driver compare
        the image with the keys of the volume, its type and the back end.

        :param policy: the policy of Cinder, which refuses before these checks
        :param named: the key in the path, if any
        """
        context = req.environ['cinder.context']
        outcome = Outcome()
        items_of_ours = checks.ours(items)
        misspelled = key_spelling.is_misspelled(named)
        if not items or items_of_ours or misspelled:
            volume = authorized(context, volume_id, policy)
            if not items:
                is_compared = policies.allows(
                    context, wire.POLICY_CORRECT_FIXED_KEYS, volume
                )
                outcome = Outcome(
                    is_configured=is_compared, is_compared=is_compared
                )
            elif misspelled:
                with refusals.bad_request():
                    checks.check_syntax({named: ''}, keys.Scope.VOLUME)
            elif items_of_ours:
                after = {**volume.metadata, **items_of_ours}
                outcome = self._check(context, volume, after, items_of_ours)
        self.complete(context, volume_id, outcome, (yield))

    def replaced(
        self,
        req: protocols.Request,
        volume_id: str,
        body: Mapping[str, Any],
        policy: str,
    ) -> Generator[None, Any, None]:
        """Check the metadata in a request, which replaces all items."""
        context = req.environ['cinder.context']
        outcome = Outcome()
        if 'metadata' in body:
            items_of_ours = checks.ours(body['metadata'])
            if items_of_ours is not None:
                volume = authorized(context, volume_id, policy)
                outcome = self._check(
                    context, volume, items_of_ours, items_of_ours
                )
        self.complete(context, volume_id, outcome, (yield))

    def check_removed(
        self, context: protocols.Context, volume_id: str, key: str
    ) -> Outcome:
        """Check that an item may be removed."""
        if not key_spelling.is_ours(key):
            return Outcome()
        volume = authorized(context, volume_id, stock.DELETE_POLICY)
        after = dict(volume.metadata)
        with refusals.bad_request():
            checks.check_removable(key, after, keys.Scope.VOLUME)
        after.pop(key, None)
        return self._check(context, volume, after, {})

    def _check(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        new: dict[str, str],
        named: dict[str, str],
    ) -> Outcome:
        """Check a change, to ``new`` items, of which some were ``named``."""
        before = checks.ours(dict(volume.metadata)) or {}
        after = checks.ours(new) or {}
        if before or after:
            _check_is_not_replaced(volume)
        different = frozenset(key for key, _ in before.items() ^ after.items())
        policies.check_keys(context, different, volume)
        with refusals.bad_request():
            self._check_fixed(context, volume, before, after, different)
            if different & after.keys():
                offer = self._offer_for(volume, after)
                checks.check_attached(offer, after, volume.size)
        return Outcome(
            checks.attached_notice(
                different,
                sum(
                    attachment.attach_status in _MADE
                    for attachment in volume.volume_attachment
                ),
            ),
            not (different | named.keys()).isdisjoint(
                image_configuration.configuration_keys()
            ),
            accepted={key: after[key] for key in different & after.keys()},
            removed=different - after.keys(),
            type_id=volume.volume_type_id,
        )

    def _check_fixed(
        self,
        context: protocols.Context,
        volume: protocols.Volume,
        before: dict[str, str],
        after: dict[str, str],
        different: frozenset[str],
    ) -> None:
        fixed = frozenset(filter(registry.is_fixed, different))
        if fixed and policies.allows(
            context, wire.POLICY_CORRECT_FIXED_KEYS, volume
        ):
            checks.check_fixed(different - fixed, before, after)
            corrected = fixed & after.keys()
            if corrected:
                state = image_record.state_here(record.stored(volume.id))
                changes.check_corrected(after, corrected, state)
        elif (
            not fixed or different & after.keys() or self._may_be_ours(volume)
        ):
            checks.check_fixed(different, before, after)

    def _may_be_ours(self, volume: protocols.Volume) -> bool:
        try:
            return self._reported.may_be_ours(volume)
        except webob.exc.HTTPServiceUnavailable:
            return True

    def complete(
        self,
        context: protocols.Context,
        volume_id: str,
        outcome: Outcome,
        response: Any = None,
    ) -> None:
        """Let a change that Cinder has made take effect.

        :param response: gets the notice, if Cinder returns one
        """
        different = outcome.removed | outcome.accepted.keys()
        if different:
            volume = record.stored(volume_id)
            accepted = outcome.accepted
            if volume.volume_type_id != outcome.type_id or _is_replaced(
                volume
            ):
                # The keys are checked where they take effect.
                accepted = {}
            record.accepted(volume_id, accepted, outcome.removed)
        notice = outcome.notice
        if outcome.is_configured:
            ignored = self._configured(context, volume_id, outcome.is_compared)
            if outcome.is_compared and ignored is not None:
                response[wire.HEADER_COMPARED] = 'true'
            if ignored is None:
                notice = (
                    'The change of the keys is stored, but not in force yet; '
                    'send it again, or attach the volume again'
                )
            else:
                notice = checks.ignored_notice(ignored, different) or notice
        tell(response, notice)

    def _configured(
        self, context: protocols.Context, volume_id: str, is_compared: bool
    ) -> Mapping[str, str] | None:
        """Make the driver configure the image; return the ignored keys.

        The driver does so when Cinder removes the export of the volume. Other
        drivers than ours are not called: they would remove it.

        :returns: None if it did not
        """
        try:
            volume = record.stored_volume(volume_id)
            here = self._reported.holding(volume)
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
                    families = image_record.families_set(volume.admin_metadata)
                    record.configuring(volume_id, families)
                rpcapi.VolumeAPI().remove_export(context, volume, sync=True)
                target = requested_configuration.Target(
                    record.stored_volume(volume_id)
                )
                # The driver may have other settings than it last reported.
                is_in_force = (
                    wire.RECORD_CONFIGURING not in target.volume.admin_metadata
                    if is_compared
                    else target.difference(here.settings) is None
                )
            ignored = target.requested(here.settings)[0].dropped
        except Exception:
            # Cinder has already made the change.
            LOG.exception('Could not configure volume %s', volume_id)
            return None
        return ignored if is_in_force else None

    def _offer_for(
        self, volume: protocols.Volume, metadata: Mapping[str, str]
    ) -> offers.TypeOffer:
        specs = type_specs.with_maxima(volume.volume_type, metadata)
        here = self._reported.holding(volume)
        matching = (here,) if here else self._reported.matching(specs)
        offer = offers.TypeOffer.of(specs, matching)
        if offer.reason == wire.NO_BACKEND:
            raise refusals.unavailable(refusals.NOT_REPORTED)
        return offer


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


def authorized(context: protocols.Context, volume_id: str, policy: str) -> Any:
    """Return a volume that the policy of Cinder lets the caller change."""
    volume = cinder_volume.API().get(context, volume_id)
    context.authorize(policy, target_obj=volume)
    return volume


def tell(response: Any, notice: str | None) -> None:
    """Add a notice to a response, as the header ``Warning`` (RFC 7234).

    The body is not changed, because clients check it against a schema.
    """
    if notice and response is not None:
        # An unknown key is a tenant's text.
        quoted = notice.replace('"', "'")
        response['Warning'] = f'299 - "{quoted}"'


class MetadataController(controller.Controller):
    """Extends Cinder's controller of volume metadata and runs before it."""

    @wsgi.extends
    def create(
        self, req: protocols.Request, volume_id: str, body: object = None
    ) -> Generator[None, Any, None]:
        """Check items that are added."""
        items = controller.part_of(body, 'metadata')
        policy = stock.CREATE_POLICY
        yield from Changes(self._reported).added(req, volume_id, items, policy)

    @wsgi.extends
    def update(
        self,
        req: protocols.Request,
        volume_id: str,
        id: str,
        body: object = None,
    ) -> Generator[None, Any, None]:
        """Check one item and the key in the path."""
        items = controller.part_of(body, 'meta')
        policy = stock.UPDATE_POLICY
        changes = Changes(self._reported)
        yield from changes.added(req, volume_id, items, policy, id)

    @wsgi.extends
    def update_all(
        self, req: protocols.Request, volume_id: str, body: object = None
    ) -> Generator[None, Any, None]:
        """Check items that replace all items."""
        request_body = body if isinstance(body, dict) else {}
        policy = stock.UPDATE_POLICY
        changes = Changes(self._reported)
        yield from changes.replaced(req, volume_id, request_body, policy)

    @wsgi.extends
    def delete(
        self, req: protocols.Request, volume_id: str, id: str, **kwargs: object
    ) -> Iterator[webob.Response | None]:
        """Check that an item may be removed.

        Cinder does not continue an extension after this request, and its
        response has no body. An item that matters to the image is therefore
        removed here.
        """
        context = req.environ['cinder.context']
        changes = Changes(self._reported)
        outcome = changes.check_removed(context, volume_id, id)
        if not outcome.is_configured:
            record.accepted(volume_id, {}, outcome.removed)
            yield None
            return
        volumes = cinder_volume.API()
        volume = volumes.get(context, volume_id)
        if id not in volume.metadata:
            # Cinder's response says so.
            yield None
            return
        volumes.delete_volume_metadata(context, volume, id)
        response = webob.Response(status_int=http.HTTPStatus.OK)
        changes.complete(context, volume_id, outcome, response.headers)
        yield response
