# SPDX-License-Identifier: Apache-2.0

"""Each route of Cinder that can matter to a volume with options.

A door runs before Cinder's own controller. What is not here does not change
what a volume requests or has; the page :doc:`/contributor/routes` says why.
"""

from collections.abc import Callable
from collections.abc import Generator
import dataclasses
from typing import Any

from cinder.api.openstack import wsgi
from cinder.policies import manageable_volumes
from cinder.policies import snapshot_metadata
from cinder.policies import type_extra_specs
from cinder.policies import volume_actions
from cinder.policies import volume_metadata
from cinder.policies import volumes as volume_policies
import webob

from cinder_rbd_ext import protocols
from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import attachments
from cinder_rbd_ext.api import attributes
from cinder_rbd_ext.api import backups
from cinder_rbd_ext.api import groups
from cinder_rbd_ext.api import messages
from cinder_rbd_ext.api import metadata
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import restrictions
from cinder_rbd_ext.api import retypes
from cinder_rbd_ext.api import snapshots
from cinder_rbd_ext.api import types
from cinder_rbd_ext.api import volumes

#: Raises the refusal of a request. It returns nothing, what to do with the
#: response of Cinder, or a response that replaces it.
Check = Callable[[api_call.ApiCall], Any]


@dataclasses.dataclass(frozen=True)
class Door:
    """A request that is checked.

    :ivar controllers: Cinder's controllers that are extended
    :ivar name: the method of the controller, or the action
    :ivar part: the part of the body that has the parameters; empty for all
    :ivar policy: Cinder's own policy of the route, without which the caller
        is refused before our check could tell something
    """

    controllers: tuple[str, ...]
    name: str
    part: str
    check: Check
    policy: str = ''
    is_action: bool = False

    def method(self, known: restrictions.Restrictions) -> Any:
        """Return the method of the controller that extends Cinder's."""

        def passage(
            controller: wsgi.Controller,
            req: protocols.Request,
            body: object = None,
            **ids: Any,
        ) -> Generator[Any, Any, None]:
            request = api_call.ApiCall(
                req, body, ids, self.part, self.policy, known
            )
            result = self.check(request)
            if isinstance(result, webob.Response):
                yield result
                return
            response = yield
            if result is not None:
                result(response)
            refusals.tell(response, request.notice)

        return _extending(passage, self)


@dataclasses.dataclass(frozen=True)
class Shown:
    """A response that gets attributes of ours."""

    controllers: tuple[str, ...]
    name: str
    part: str
    show: Callable[[protocols.Request, Any], None]

    def method(self, known: restrictions.Restrictions) -> Any:
        """Return the method of the controller that extends Cinder's."""

        def passage(
            controller: wsgi.Controller,
            req: protocols.Request,
            resp_obj: protocols.Response,
            **ids: Any,
        ) -> None:
            self.show(req, resp_obj.obj[self.part])

        return _extending(passage, self)


def _extending(passage: Any, door: Any) -> Any:
    passage.__name__ = door.name
    passage.__module__ = getattr(door, 'check', passage).__module__
    action = door.name if getattr(door, 'is_action', False) else None
    return wsgi.extends(action=action)(passage)


def _action(
    name: str,
    check: Check,
    policy: str = '',
    controller: str = 'volumes',
) -> Door:
    return Door((controller,), name, name, check, policy, is_action=True)


_VOLUMES = ('volumes',)
_METADATA = ('volume_metadata',)
_SNAPSHOTS = ('snapshots', 'os-snapshot-manage', 'manageable_snapshots')
_OF_SNAPSHOTS = ('snapshot_metadata',)
_SPECS = ('extra_specs',)
_GROUP_SNAPSHOTS = ('group_snapshots', 'cgsnapshots')
_MANAGED = ('os-volume-manage', 'manageable_volumes')

DOORS: tuple[Door | Shown, ...] = (
    # Volumes
    Door(_VOLUMES, 'create', 'volume', volumes.check_create),
    Door(
        *(_VOLUMES, 'update', 'volume', metadata.check_replaced),
        volume_policies.UPDATE_POLICY,
    ),
    Door(
        *(_MANAGED, 'create', 'volume', volumes.check_managed),
        manageable_volumes.MANAGE_POLICY,
    ),
    _action('os-retype', retypes.check_retype, volume_actions.RETYPE_POLICY),
    _action(
        'os-migrate_volume',
        *(retypes.check_migration, volume_actions.MIGRATE_POLICY),
    ),
    _action(
        'os-migrate_volume_completion',
        *(retypes.check_completion, volume_actions.MIGRATE_COMPLETE_POLICY),
    ),
    _action('os-extend', volumes.check_extend),
    _action('os-set_image_metadata', volumes.check_image_metadata),
    _action('os-set_bootable', volumes.check_bootable),
    _action('os-reimage', volumes.check_reimage),
    Shown(_VOLUMES, 'show', 'volume', attributes.show_volume),
    Shown(_VOLUMES, 'detail', 'volumes', attributes.show_volumes),
    # Their metadata
    Door(
        *(_METADATA, 'create', 'metadata', metadata.check_added),
        volume_metadata.CREATE_POLICY,
    ),
    Door(
        *(_METADATA, 'update', 'meta', metadata.check_added),
        volume_metadata.UPDATE_POLICY,
    ),
    Door(
        *(_METADATA, 'update_all', '', metadata.check_replaced),
        volume_metadata.UPDATE_POLICY,
    ),
    Door(
        *(_METADATA, 'delete', '', metadata.check_removed),
        volume_metadata.DELETE_POLICY,
    ),
    # Their connections
    Door(('attachments',), 'create', 'attachment', attachments.check_create),
    Door(('attachments',), 'update', 'attachment', attachments.check_update),
    _action('os-initialize_connection', attachments.check_initialize),
    _action('os-terminate_connection', attachments.check_terminate),
    # Snapshots, backups and groups, which use the images of volumes
    Door(_SNAPSHOTS, 'create', 'snapshot', snapshots.check_create),
    Door(_SNAPSHOTS, 'delete', '', snapshots.check_image),
    *(
        _action(name, snapshots.check_image, controller=each)
        for name in ('os-force_delete', 'os-unmanage')
        for each in _SNAPSHOTS
    ),
    *(
        Door(
            *(_OF_SNAPSHOTS, name, part, snapshots.check_metadata),
            snapshot_metadata.UPDATE_POLICY,
        )
        for name, part in (
            ('create', 'metadata'),
            ('update', 'meta'),
            ('update_all', 'metadata'),
        )
    ),
    Door(('backups',), 'create', 'backup', backups.check_create),
    Door(('backups',), 'restore', 'restore', backups.check_restore),
    _action('create-from-src', groups.check_group, controller='groups'),
    Door(
        *(('consistencygroups',), 'create_from_src'),
        *('consistencygroup-from-src', groups.check_consistency_group),
    ),
    Door(_GROUP_SNAPSHOTS, 'create', '', groups.check_snapshot),
    Door(_GROUP_SNAPSHOTS, 'delete', '', groups.check_snapshot_deletion),
    # Volume types
    Door(('types',), 'create', '', types.check_create, is_action=True),
    Door(
        *(_SPECS, 'create', 'extra_specs', types.check_added),
        type_extra_specs.CREATE_POLICY,
    ),
    Door(
        *(_SPECS, 'update', '', types.check_added),
        type_extra_specs.UPDATE_POLICY,
    ),
    Door(
        *(_SPECS, 'delete', '', types.check_removed),
        type_extra_specs.DELETE_POLICY,
    ),
    # The reasons of refusals
    Shown(('messages',), 'index', 'messages', messages.append_all),
    Shown(('messages',), 'show', 'message', messages.append),
)


def controllers(
    known: restrictions.Restrictions,
) -> dict[str, wsgi.Controller]:
    """Return what extends each controller of Cinder, by its name."""
    methods: dict[str, dict[str, Any]] = {}
    for door in DOORS:
        for name in door.controllers:
            method = door.method(known)
            methods.setdefault(name, {})[door.name] = method
    return {
        name: type(wsgi.Controller)(name, (wsgi.Controller,), of_it)()
        for name, of_it in methods.items()
    }
