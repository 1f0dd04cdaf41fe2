# SPDX-License-Identifier: Apache-2.0

"""Requests for new volumes and for actions on volumes."""

from collections.abc import Generator
from collections.abc import Iterator
from typing import Any

from cinder import context as cinder_context
from cinder import exception
from cinder import objects
from cinder import volume as cinder_volume
from cinder.api.openstack import wsgi
from cinder.policies import volume_actions as action_policies
from cinder.policies import volumes as volume_policies
from oslo_utils import strutils

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import request
from cinder_rbd_ext.api import attributes
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import growth
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import metadata
from cinder_rbd_ext.api import offers
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import replaced
from cinder_rbd_ext.api import restrictions
from cinder_rbd_ext.api import retypes
from cinder_rbd_ext.api import visible_types
from cinder_rbd_ext.api import volume_source
from cinder_rbd_ext.retype import marker
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import sector_sizes

_NEVER = 'never'


class VolumesController(wsgi.Controller):
    """Runs before Cinder's controller, and after it to add attributes.

    A request that Cinder itself refuses is left to Cinder and its messages.
    The schemas of Cinder have not checked the bodies here yet.
    """

    def __init__(
        self, reported: pools.ReportedPools, types: known_types.KnownTypes
    ) -> None:
        super().__init__()
        self._reported = reported
        self._restrictions = restrictions.Restrictions(reported, types)
        self._metadata = metadata.Changes(reported)
        self._growth = growth.Growth(reported)

    @wsgi.extends
    def create(
        self, req: protocols.Request, body: object = None
    ) -> Iterator[None]:
        """Check the requested options of a new volume."""
        volume = checks.part_of(body, 'volume')
        metadata = checks.ours(volume.get('metadata'))
        if volume and metadata is not None:
            if metadata:
                self._check_create(req, volume, metadata)
            else:
                self._check_type(req, volume)
        if volume.get('snapshot_id') is not None:
            replaced.check_snapshot(
                req.environ['cinder.context'], volume['snapshot_id']
            )
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
            checks.check_syntax(
                metadata, keys.Scope.VOLUME, errors.Origin.VOLUME_METADATA
            )
        source = volume_source.of_request(req, volume)
        if source is None:
            return
        size = _size(volume, source)
        volume_type = visible_types.of_new_volume(
            context, volume.get('volume_type') or source.volume_type_id
        )
        if size is None or volume_type is None:
            return
        offer = self._offer(volume_type)
        with refusals.bad_request(source.hint):
            checks.check_created(
                offer, metadata, size, source, policies.settable(context)
            )
            if source.written is not None:
                checks.check_readable(offer, metadata, source.written)

    def _check_type(
        self, req: protocols.Request, volume: dict[str, Any]
    ) -> None:
        """Check a volume without keys of its own against its type.

        This checks only that the layout matches the size, and that servers
        can read the data of a backup. Cinder checks the rest.
        """
        if not volume.get('backup_id') and not self._restrictions.may_refuse(
            volume
        ):
            return
        context = req.environ['cinder.context']
        if not context.authorize(_policy(req, volume), fatal=False):
            return
        try:
            source = volume_source.of_request(req, volume)
            if source is None:
                return
            volume_type = visible_types.of_new_volume(
                context, volume.get('volume_type') or source.volume_type_id
            )
        except exception.NotFound:
            return
        size = _size(volume, source)
        if size is None or volume_type is None:
            return
        offer = self._restrictions.offer(volume_type)
        if offer is not None:
            with refusals.bad_request(source.hint):
                checks.check_type(offer, size, source)
        if source.written is not None:
            with refusals.bad_request():
                checks.check_readable(
                    self._offer(volume_type), {}, source.written
                )

    def _offer(self, volume_type: protocols.VolumeType) -> offers.TypeOffer:
        specs = volume_type['extra_specs'] or {}
        offer = offers.TypeOffer.of(specs, self._reported.matching(specs))
        if offer.reason == offers.NO_BACKEND:
            raise refusals.no_backend(volume_type['name'])
        return offer

    @wsgi.extends
    def update(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Generator[None, Any, None]:
        """Check the metadata in an update of a volume.

        It replaces all existing metadata.
        """
        volume = checks.part_of(body, 'volume')
        outcome = metadata.Outcome()
        context = req.environ['cinder.context']
        if 'metadata' in volume:
            outcome = self._metadata.check_replaced(
                context,
                id,
                volume['metadata'],
                volume_policies.UPDATE_POLICY,
            )
        response = yield
        self._metadata.complete(
            context, id, outcome, volume.get('metadata') or {}, response
        )

    @wsgi.extends(action='os-retype')
    def retype(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Generator[None, Any, None]:
        """Check the retype of a volume."""
        asked = checks.part_of(body, 'os-retype')
        notice = None
        if isinstance(asked.get('new_type'), str):
            notice = self._check_retype(
                req.environ['cinder.context'], id, asked
            )
        metadata.tell((yield), notice)

    def _check_retype(
        self, context: protocols.Context, ident: str, asked: dict[str, Any]
    ) -> str | None:
        volume = cinder_volume.API().get(context, ident)
        context.authorize(action_policies.RETYPE_POLICY, target_obj=volume)
        new_type = visible_types.find(context, asked['new_type'])
        _disown(volume.id)
        may_migrate = (asked.get('migration_policy') or _NEVER) != _NEVER
        return retypes.check(
            volume,
            new_type,
            may_migrate,
            self._reported,
            policies.allows(context, policies.GET_POOLS),
        )

    @wsgi.extends(action='os-migrate_volume')
    def migrate(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the destination of a migration.

        Cinder may copy the data itself, without a call of the driver. The
        marker of an earlier migration ends nothing then.
        """
        context = req.environ['cinder.context']
        volume = cinder_volume.API().get(context, id)
        context.authorize(action_policies.MIGRATE_POLICY, target_obj=volume)
        recorded = record.items_of(volume.id)
        if record.has_disk(recorded):
            asked = checks.part_of(body, 'os-migrate_volume')
            possible = self._reported.destination(context, asked)
            retypes.check_readable(recorded, possible)
        _disown(volume.id)
        yield

    @wsgi.extends(action='os-extend')
    def extend(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check the new size of a volume."""
        self._growth.check(req, id, checks.part_of(body, 'os-extend'))
        yield

    @wsgi.extends(action='os-set_image_metadata')
    def set_image_metadata(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check new image metadata of a volume."""
        _check_image_metadata(checks.part_of(body, 'os-set_image_metadata'))
        yield

    @wsgi.extends(action='os-set_bootable')
    def set_bootable(
        self, req: protocols.Request, id: str, body: object = None
    ) -> Iterator[None]:
        """Check that servers can boot from a volume."""
        wanted = checks.part_of(body, 'os-set_bootable').get('bootable')
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
        image_id = checks.part_of(body, 'os-reimage').get('image_id')
        if isinstance(image_id, str):
            written = volume_source.disk_of_image(context, image_id)
            if written is not None:
                with refusals.bad_request():
                    sector_sizes.check_receives(
                        record.disk_in(record.items_of(id)), written
                    )
        yield

    def _check_bootable(self, context: protocols.Context, ident: str) -> None:
        volume = cinder_volume.API().get(context, ident)
        with refusals.bad_request():
            disk = record.disk_in(record.items_of(volume.id))
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
        self._show(req, [resp_obj.obj['volume']])

    @wsgi.extends
    def detail(
        self, req: protocols.Request, resp_obj: protocols.Response
    ) -> None:
        """Add the attributes of the RBD images to volumes."""
        self._show(req, resp_obj.obj['volumes'])

    def _show(
        self, req: protocols.Request, shown: list[dict[str, Any]]
    ) -> None:
        # The caller may see all these volumes, so one check is sufficient.
        context = req.environ['cinder.context']
        if policies.allows(context, policies.GET):
            shows_pools = policies.allows(context, policies.GET_POOLS)
            for each in shown:
                volume = req.get_db_volume(each['id'])
                each.update(attributes.of_volume(volume, shows_pools))


def _disown(volume_id: str) -> None:
    """Note that the status that Cinder sets next belongs to this request.

    The marker of an earlier, interrupted one may still be there. That of one
    which is running is left alone: Cinder refuses this request. Another
    request may have begun since this one read the volume, so its status and
    its marker are read again, in one query.
    """
    admin = cinder_context.get_admin_context()
    volume = objects.Volume.get_by_id(admin, volume_id)
    mark = marker.read(volume.admin_metadata)
    if (
        mark
        and volume.status != marker.RETYPING
        and not marker.is_migrating(volume)
    ):
        marker.disown(volume_id, mark.request)


def _policy(req: protocols.Request, volume: dict[str, Any]) -> str:
    """Return the policy that Cinder checks first.

    If an image names a snapshot, Cinder checks the same as for a snapshot.
    """
    from_image = str(volume_policies.CREATE_FROM_IMAGE_POLICY)
    if volume_source.image_reference(volume) is not None and (
        not volume_source.uses_nova_images(req)
        or req.environ['cinder.context'].authorize(from_image, fatal=False)
    ):
        return from_image
    return str(volume_policies.CREATE_POLICY)


def _size(volume: dict[str, Any], source: volume_source.Source) -> int | None:
    """Return a volume's size in GiB; None if Cinder refuses it."""
    if volume.get('size') is None:
        return source.size
    return checks.whole_number(volume['size'])


def _check_image_metadata(asked: dict[str, Any]) -> None:
    """Check a request for ``os-set_image_metadata``.

    :raises HTTPBadRequest: for a key that looks like an ``rbd:`` key
    """
    items = asked.get('metadata')
    if not isinstance(items, dict):
        return
    ours = checks.ours(
        {key: value for key, value in items.items() if isinstance(value, str)}
    )
    for name, value in (ours or {}).items():
        with refusals.bad_request():
            raise errors.OptionError(
                definitions.shown_key(name),
                value,
                'not allowed in image metadata',
                f'keys that do not begin with {keys.PREFIX}',
            )
