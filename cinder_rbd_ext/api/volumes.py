# SPDX-License-Identifier: Apache-2.0

"""Requests that create, manage, restore, change or show volumes."""

from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterator
from typing import Any

from cinder import exception
from cinder import volume as cinder_volume
from cinder.api import microversions
from cinder.api.openstack import wsgi
from cinder.policies import manageable_volumes as manage_policies
from cinder.policies import volume_actions as action_policies
from cinder.policies import volumes as volume_policies
from oslo_utils import strutils
from oslo_utils import units
from oslo_utils import uuidutils
import webob.exc

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext.api import attributes
from cinder_rbd_ext.api import controller
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import metadata
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import restrictions
from cinder_rbd_ext.api import retypes
from cinder_rbd_ext.api import snapshots
from cinder_rbd_ext.api import volume_source
from cinder_rbd_ext.attach import requester
from rbd_volume_options import checks
from rbd_volume_options import errors
from rbd_volume_options import growth
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import limits
from rbd_volume_options import offers
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import qos
from rbd_volume_options import request
from rbd_volume_options import sector_sizes
from rbd_volume_options import wire

# For a volume with another driver or no requested layout.
_UNBOUNDED = limits.Limits(require_whole_stripes=False, max_objects=1 << 63)


class VolumesController(controller.Controller):
    """Runs before Cinder's controller, and after it to add attributes.

    Cinder itself refuses what its schemas refuse.
    """

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        super().__init__(reported, types)
        self._restrictions = restrictions.Restrictions(reported, types)

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the requested options of a new volume."""
        volume = controller.part_of(body, 'volume')
        metadata = checks.ours(volume.get('metadata'))
        if volume and metadata is not None:
            if metadata:
                self._check_create(req, volume, metadata)
            else:
                self._check_type(req, volume)
        yield

    def _check_create(
        self,
        req: protocols.Request,
        volume: dict[str, Any],
        metadata: dict[str, str],
    ) -> None:
        context = req.environ['cinder.context']
        context.authorize(_policy(req, volume))
        policies.check_keys(context, metadata)
        with refusals.bad_request():
            checks.check_syntax(metadata, keys.Scope.VOLUME)
        wanted = _wanted(req, volume)
        if wanted is None:
            return
        source, size, volume_type = wanted
        offer = self._offer(volume_type, metadata)
        with refusals.bad_request(source.hint):
            checks.check_created(
                offer, metadata, size, source, policies.settable(context)
            )
            if source.written is not None:
                checks.check_readable(offer, metadata, source.written)
            if volume.get('backup_id'):
                total = size * units.Gi
                for requested, _ in offer.requests(metadata):
                    chosen = plan.configuration_of(requested.resolve(), total)
                    _check_quick(
                        qos.delaying(qos.REIMAGE, total, chosen, metadata)
                    )
        # The scheduler may have been waited for since the first look.
        snapshots.check_use(context, volume.get('snapshot_id'))

    def _check_type(
        self, req: protocols.Request, volume: dict[str, Any]
    ) -> None:
        """Check the size of a volume without keys, and a backup's disk."""
        context = req.environ['cinder.context']
        if not volume.get('backup_id') and not self._restrictions.may_refuse(
            volume
        ):
            snapshots.check_use(context, volume.get('snapshot_id'))
            return
        if not context.authorize(_policy(req, volume), fatal=False):
            return
        try:
            wanted = _wanted(req, volume, self._types.public)
        except exception.NotFound:
            return
        if wanted is None:
            return
        source, size, volume_type = wanted
        offer = restrictions.offer_of(volume_type, self._reported, size=size)
        if offer is not None:
            with refusals.bad_request(source.hint):
                checks.check_type(offer, size, source)
        if source.written is not None:
            with refusals.bad_request():
                checks.check_readable(
                    self._offer(volume_type), {}, source.written
                )

    @wsgi.extends
    def update(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Generator[None, Any, None]:
        """Check the metadata in an update, which replaces all items."""
        volume = controller.part_of(body, 'volume')
        policy = volume_policies.UPDATE_POLICY
        changes = metadata.Changes(self._reported)
        yield from changes.replaced(req, id, volume, policy)

    @wsgi.extends(action='os-retype')
    def retype(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Generator[None, Any, None]:
        """Check the retype of a volume."""
        parameters = controller.part_of(body, 'os-retype')
        notice = None
        if isinstance(parameters.get('new_type'), str):
            context = req.environ['cinder.context']
            policy = action_policies.RETYPE_POLICY
            volume = metadata.authorized(context, id, policy)
            new_type = known_types.visible(context, parameters['new_type'])
            notice = retypes.check(
                volume,
                new_type,
                (parameters.get('migration_policy') or 'never') != 'never',
                self._reported,
                policies.allows(context, wire.POLICY_GET_POOLS),
            )
        metadata.tell((yield), notice)

    @wsgi.extends(action='os-migrate_volume')
    def migrate(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the destination of a migration."""
        context = req.environ['cinder.context']
        policy = action_policies.MIGRATE_POLICY
        volume = metadata.authorized(context, id, policy)
        recorded = record.items_of(volume.id)
        if image_record.has_disk(recorded):
            host = controller.part_of(body, 'os-migrate_volume')
            possible = self._reported.destination(context, host)
            retypes.check_readable(recorded, possible)
        yield

    @wsgi.extends(action='os-migrate_volume_completion')
    def complete_migration(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check that a server uses the new volume, for which Nova copied.

        Cinder deletes the former image then. It completes its own copies
        without this request, which could come before their end.
        """
        parameters = controller.part_of(body, 'os-migrate_volume_completion')
        new_id = parameters.get('new_volume')
        if isinstance(new_id, str) and not parameters.get('error'):
            context = req.environ['cinder.context']
            policy = action_policies.MIGRATE_COMPLETE_POLICY
            volume = metadata.authorized(context, id, policy)
            new = cinder_volume.API().get(context, new_id)
            # Servers without an attachment ID have the volume ``attaching``.
            old_way = new.status == 'attaching' and not new.volume_attachment
            is_used = new.status == 'in-use' or old_way
            if not is_used and self._reported.may_be_ours(volume):
                raise webob.exc.HTTPBadRequest(
                    explanation=f'No server uses volume {new.id}, which may '
                    f'not have all data of volume {volume.id} yet. Cinder '
                    'itself completes the migration of an unused volume.'
                )
        yield

    @wsgi.extends(action='os-extend')
    def extend(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the new size of a volume, before quota is reserved."""
        new_size = controller.part_of(body, 'os-extend').get('new_size')
        size = controller.whole_number(new_size)
        if size is not None:
            context = req.environ['cinder.context']
            volume = cinder_volume.API().get(context, id)
            policy = action_policies.EXTEND_POLICY
            if volume.status == 'in-use' and req.api_version_request.matches(
                microversions.VOLUME_EXTEND_INUSE
            ):
                policy = action_policies.EXTEND_ATTACHED_POLICY
            context.authorize(policy, target_obj=volume)
            if size > volume.size:
                self._check_growth(volume, size * units.Gi)
        yield

    def _check_growth(self, volume: protocols.Volume, size: int) -> None:
        """Check the new size of a volume in bytes.

        :raises HTTPBadRequest: for a size that the layout or the object map do
            not allow, or while the volume is migrated
        :raises HTTPServiceUnavailable: if the limits of the back end decide
            and are unknown
        """
        stored = record.stored(volume.id)
        recorded = image_record.read(stored)
        # The copy has the size that the volume had when the migration began,
        # also if Cinder or Nova makes it. They do not look at it again, and
        # the volume would get that size back.
        if recorded and volume.migration_status in requester.MOVING:
            raise webob.exc.HTTPBadRequest(
                explanation=f'Volume {volume.id} is being migrated. Extend it '
                'afterwards.'
            )
        # Our driver applies the record whatever section wrote it, because an
        # operator may have renamed the section. Another driver does not: the
        # record may be that of the former image of a migrated volume.
        if recorded is None or not (
            image_record.state_here(stored)
            or self._reported.may_be_ours(volume)
        ):
            return
        origins = recorded.origins or {}
        bounds = _UNBOUNDED
        if not precedence.GIVEN.isdisjoint(origins.values()):
            here = self._reported.holding(volume)
            if here is None:
                raise refusals.unavailable(refusals.NOT_REPORTED)
            # A back end with another driver applies its own rules.
            if here.settings:
                bounds = here.settings.limits
        with refusals.bad_request():
            growth.check(recorded.state, origins, size, bounds)

    @wsgi.extends(action='os-set_image_metadata')
    def set_image_metadata(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check that no image metadata looks like an ``rbd:`` key."""
        parameters = controller.part_of(body, 'os-set_image_metadata')
        items = controller.part_of(parameters, 'metadata')
        with refusals.bad_request():
            checks.check_other_metadata(items, 'image')
        yield

    @wsgi.extends(action='os-set_bootable')
    def set_bootable(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check that servers can boot from a volume."""
        wanted = controller.part_of(body, 'os-set_bootable').get('bootable')
        if strutils.bool_from_string(wanted):
            self._check_bootable(req.environ['cinder.context'], id)
        yield

    @wsgi.extends(action='os-reimage')
    def reimage(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check that servers can boot from a volume and read its new data."""
        context = req.environ['cinder.context']
        self._check_bootable(context, id)
        metadata.Changes(self._reported).complete(
            context, id, metadata.Outcome(is_configured=True)
        )
        self._check_keeps_data(cinder_volume.API().get(context, id))
        image_id = controller.part_of(body, 'os-reimage').get('image_id')
        if isinstance(image_id, str):
            written = volume_source.disk_of_image(context, image_id)
            if written is not None:
                with refusals.bad_request():
                    sector_sizes.check_receives(
                        image_record.disk_in(record.items_of(id)), written
                    )
        yield

    def _check_keeps_data(self, volume: protocols.Volume) -> None:
        """Check that a re-image writes what stays, and removes nothing else.

        :raises HTTPBadRequest: if Cinder is migrating the volume, if its
            snapshots would be lost, or if it would hold a thread for long
        """
        reason = ''
        if volume.migration_status in requester.MOVING:
            reason = 'the volume is being migrated. Try again later'
        elif not releases.REIMAGE_KEEPS_IMAGE:
            reason = volume.snapshots and releases.REIMAGE_LOSES_SNAPSHOTS
        elif slow := image_record.delaying(
            qos.REIMAGE, volume, record.items_of(volume.id)
        ):
            reason = _SLOW.format(', '.join(slow))
        if reason and self._reported.may_be_ours(volume):
            raise webob.exc.HTTPBadRequest(
                explanation=f'{wire.REFUSED}{reason}.'
            )

    def _check_bootable(self, context: protocols.Context, ident: str) -> None:
        volume = cinder_volume.API().get(context, ident)
        with refusals.bad_request():
            disk = image_record.disk_in(record.items_of(volume.id))
            if not disk:
                return
            holding = self._reported.holding(volume)
            settings = holding.settings if holding else None
            own = options.parse(
                request.specs_of(volume.volume_type),
                keys.Scope.TYPE,
                errors.Origin.VOLUME_TYPE,
            )
            defaults = settings.options.plain if settings else {}
            sector_sizes.check_bootable(disk, {**defaults, **own.plain})

    @wsgi.extends
    def show(
        self, req: protocols.Request, resp_obj: protocols.Response, id: str
    ) -> None:
        """Add the attributes of the RBD image to a volume."""
        _show(req, [resp_obj.obj['volume']])

    @wsgi.extends
    def detail(
        self, req: protocols.Request, resp_obj: protocols.Response
    ) -> None:
        """Add the attributes of the RBD images to volumes."""
        _show(req, resp_obj.obj['volumes'])


# Of a re-image, a backup or a restore, because of limits of the owner.
_SLOW = 'these limits make it slow: {}. Remove them first'


class ManageController(controller.Controller):
    """Checks keys before Cinder manages an RBD image.

    Operators do, so the list of keys for tenants does not apply. The driver
    checks whether the image matches the keys.
    """

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the keys of the volume."""
        volume = controller.part_of(body, 'volume')
        metadata = checks.ours(volume.get('metadata'))
        if volume and metadata is not None:
            self._check(req.environ['cinder.context'], volume, metadata)
        yield

    def _check(
        self,
        context: protocols.Context,
        volume: dict[str, Any],
        metadata: dict[str, str],
    ) -> None:
        context.authorize(manage_policies.MANAGE_POLICY)
        policies.check_keys(context, metadata)
        with refusals.bad_request():
            checks.check_syntax(metadata, keys.Scope.VOLUME)
        wanted, specs = volume.get('volume_type'), {}
        if wanted:
            if not isinstance(wanted, str):
                return
            try:
                volume_type = known_types.visible(context, wanted)
            except exception.NotFound:
                return
            specs = request.specs_of(volume_type)
        if not (metadata or options.ours(specs)):
            return
        matching = self._reported.destination(context, volume)
        if not matching:
            return
        offer = offers.TypeOffer.of(specs, matching)
        with refusals.bad_request():
            offer.check_offered(metadata, errors.Origin.VOLUME_METADATA)
            for settings in offer.settings:
                requested = request.Texts(metadata, specs).request(settings)
                plan.check_managed(requested.resolve())


class BackupsController(controller.Controller):
    """Backups and restores.

    The services of all projects make only some at a time
    (``backup_max_operations``).
    """

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the snapshot of a new backup, or the limits of the volume.

        Cinder reads a snapshot and a volume in use through a clone, which has
        no limits of the owner.
        """
        context = req.environ['cinder.context']
        backup = controller.part_of(body, 'backup')
        snapshots.check_use(context, backup.get('snapshot_id'))
        ident = backup.get('volume_id')
        if not backup.get('snapshot_id') and uuidutils.is_uuid_like(ident):
            volume = cinder_volume.API().get(context, ident)
            if volume.status != 'in-use':
                self._check(volume, qos.UPLOAD, ', or back up a snapshot')
        yield

    def _check(
        self, volume: protocols.Volume, work: dict[str, int], instead: str = ''
    ) -> None:
        items = record.items_of(volume.id)
        slow = image_record.delaying(work, volume, items)
        if slow and self._reported.may_be_ours(volume):
            _check_quick(slow, instead)

    @wsgi.extends
    def restore(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the volume to which a backup is restored."""
        context = req.environ['cinder.context']
        written = volume_source.of_backup(context, id).written
        volume_id = controller.part_of(body, 'restore').get('volume_id')
        if uuidutils.is_uuid_like(volume_id):
            volume = cinder_volume.API().get(context, volume_id)
            self._check(volume, qos.REIMAGE)
        if written is not None:
            with refusals.bad_request():
                if volume_id is None:
                    # Cinder would create a volume of the default type.
                    volume_type = known_types.of_new_volume(context, None)
                    if volume_type is not None:
                        specs = volume_type['extra_specs'] or {}
                        matching = self._reported.matching(specs)
                        offer = offers.TypeOffer.of(specs, matching)
                        checks.check_readable(offer, {}, written)
                elif uuidutils.is_uuid_like(volume_id):
                    sector_sizes.check_receives(
                        image_record.disk_in(record.items_of(volume.id)),
                        written,
                    )
        yield


def _check_quick(slow: list[str], instead: str = '') -> None:
    """Check that no limits of the owner make a backup or a restore slow."""
    if slow:
        reason = _SLOW.format(', '.join(slow))
        raise webob.exc.HTTPBadRequest(
            explanation=f'{wire.REFUSED}{reason}{instead}.'
        )


def _show(req: protocols.Request, shown: list[dict[str, Any]]) -> None:
    # The caller may see all these volumes, so one check is sufficient.
    context = req.environ['cinder.context']
    if policies.allows(context, wire.POLICY_GET):
        shows_pools = policies.allows(context, wire.POLICY_GET_POOLS)
        for each in shown:
            volume = req.get_db_volume(each['id'])
            each.update(attributes.of_volume(volume, shows_pools))


def _policy(req: protocols.Request, volume: dict[str, Any]) -> str:
    """Return the policy that Cinder checks first.

    An image that names a snapshot has the policy of a snapshot.
    """
    from_image = str(volume_policies.CREATE_FROM_IMAGE_POLICY)
    if volume_source.image_reference(volume) is not None and (
        not volume_source.uses_nova_images(req)
        or req.environ['cinder.context'].authorize(from_image, fatal=False)
    ):
        return from_image
    return str(volume_policies.CREATE_POLICY)


def _wanted(
    req: protocols.Request,
    volume: dict[str, Any],
    known: Callable[[object], Any] = lambda identity: None,
) -> tuple[checks.VolumeSource, int, Any] | None:
    """Return the source, the size in GiB and the type of a new volume.

    :param known: returns a type that need not be looked up, or None
    :returns: None if Cinder refuses one of them
    :raises NotFound: for a source or type that does not exist for the caller
    """
    source = volume_source.of_request(req, volume)
    if source is None:
        return None
    identity = volume.get('volume_type') or source.volume_type_id
    volume_type = known(identity) or known_types.of_new_volume(
        req.environ['cinder.context'], identity
    )
    size = volume.get('size')
    size = controller.whole_number(source.size if size is None else size)
    if size is None or volume_type is None:
        return None
    return source, size, volume_type
