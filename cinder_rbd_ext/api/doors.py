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
from cinder.policies import manageable_volumes as manage
from cinder.policies import snapshot_metadata as of_snapshots
from cinder.policies import type_extra_specs as specs
from cinder.policies import volume_actions as actions
from cinder.policies import volume_metadata as items
from cinder.policies import volumes as stock
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

    :ivar controllers: Cinder's controllers that are extended, by a space
    :ivar name: the method of the controller, or the action
    :ivar policy: Cinder's own policy of the route, without which the caller
        is refused before our check could tell something
    :ivar part: the part of the body that has the parameters; empty for all.
        By default that of an action, which has its name
    """

    controllers: str
    name: str
    check: Check
    policy: str = ''
    part: str | None = None

    def method(self, known: restrictions.Restrictions) -> Any:
        """Return the method of the controller that extends Cinder's."""
        # Cinder creates types by an action.
        is_action = '-' in self.name or self.controllers == 'types'
        part = self.name if self.part is None else self.part

        def passage(
            controller: wsgi.Controller,
            req: protocols.Request,
            body: object = None,
            **ids: Any,
        ) -> Generator[Any, Any, None]:
            request = api_call.ApiCall(
                req, body, ids, part, self.policy, known
            )
            with request.checking():
                result = self.check(request)
            if isinstance(result, webob.Response):
                yield result
                return
            response = yield
            if result is not None:
                result(response)
            refusals.tell(response, request.notice)

        passage.__module__ = self.check.__module__
        passage.__name__ = self.name
        return wsgi.extends(action=self.name if is_action else None)(passage)


@dataclasses.dataclass(frozen=True)
class Shown:
    """A response that gets attributes of ours."""

    controllers: str
    name: str
    show: Callable[[protocols.Request, Any], None]
    part: str

    def method(self, known: restrictions.Restrictions) -> Any:
        """Return the method of the controller that extends Cinder's."""

        def passage(
            controller: wsgi.Controller,
            req: protocols.Request,
            resp_obj: protocols.Response,
            **ids: Any,
        ) -> None:
            self.show(req, resp_obj.obj[self.part])

        passage.__name__ = self.name
        return wsgi.extends(passage)


def _doors(controllers: str, *rows: tuple[Any, ...]) -> tuple[Door, ...]:
    return tuple(Door(controllers, *row) for row in rows)


DOORS: tuple[Door | Shown, ...] = (
    *_doors(
        'volumes',
        ('create', volumes.check_create, '', 'volume'),
        ('update', metadata.check_replaced, stock.UPDATE_POLICY, 'volume'),
        ('os-retype', retypes.check_retype, actions.RETYPE_POLICY),
        ('os-migrate_volume', retypes.check_migration, actions.MIGRATE_POLICY),
        (
            *('os-migrate_volume_completion', retypes.check_completion),
            actions.MIGRATE_COMPLETE_POLICY,
        ),
        ('os-extend', volumes.check_extend),
        ('os-set_image_metadata', volumes.check_image_metadata),
        ('os-set_bootable', volumes.check_bootable),
        ('os-reimage', volumes.check_reimage),
        ('os-initialize_connection', attachments.check_initialize),
        ('os-terminate_connection', attachments.check_terminate),
    ),
    Shown('volumes', 'show', attributes.show_volume, 'volume'),
    Shown('volumes', 'detail', attributes.show_volumes, 'volumes'),
    *_doors(
        'os-volume-manage manageable_volumes',
        ('create', volumes.check_managed, manage.MANAGE_POLICY, 'volume'),
    ),
    *_doors(
        'volume_metadata',
        ('create', metadata.check_added, items.CREATE_POLICY, 'metadata'),
        ('update', metadata.check_added, items.UPDATE_POLICY, 'meta'),
        ('update_all', metadata.check_replaced, items.UPDATE_POLICY, ''),
        ('delete', metadata.check_removed, items.DELETE_POLICY, ''),
    ),
    *_doors(
        'attachments',
        ('create', attachments.check_create, '', 'attachment'),
        ('update', attachments.check_update, '', 'attachment'),
    ),
    # Snapshots, backups and groups use the images of volumes.
    *_doors(
        'snapshots os-snapshot-manage manageable_snapshots',
        ('create', snapshots.check_create, '', 'snapshot'),
        ('delete', snapshots.check_image, '', ''),
        ('os-force_delete', snapshots.check_image),
        ('os-unmanage', snapshots.check_image),
    ),
    *_doors(
        'snapshot_metadata',
        *(
            (
                name,
                snapshots.check_metadata,
                of_snapshots.UPDATE_POLICY,
                part,
            )
            for name, part in (
                ('create', 'metadata'),
                ('update', 'meta'),
                ('update_all', 'metadata'),
            )
        ),
    ),
    *_doors(
        'backups',
        ('create', backups.check_create, '', 'backup'),
        ('restore', backups.check_restore, '', 'restore'),
    ),
    *_doors('groups', ('create-from-src', groups.check_group)),
    *_doors(
        'consistencygroups',
        (
            *('create_from_src', groups.check_consistency_group, ''),
            'consistencygroup-from-src',
        ),
    ),
    *_doors(
        'group_snapshots cgsnapshots',
        ('create', groups.check_snapshot, '', ''),
        ('delete', groups.check_snapshot_deletion, '', ''),
    ),
    *_doors('types', ('create', types.check_create, '', '')),
    *_doors(
        'extra_specs',
        ('create', types.check_added, specs.CREATE_POLICY, 'extra_specs'),
        ('update', types.check_added, specs.UPDATE_POLICY, ''),
        ('delete', types.check_removed, specs.DELETE_POLICY, ''),
    ),
    # The reasons of refusals
    Shown('messages', 'index', messages.append_all, 'messages'),
    Shown('messages', 'show', messages.append, 'message'),
)


def controllers(
    known: restrictions.Restrictions,
) -> dict[str, wsgi.Controller]:
    """Return what extends each controller of Cinder, by its name."""
    methods: dict[str, dict[str, Any]] = {}
    for door in DOORS:
        for name in door.controllers.split():
            method = door.method(known)
            methods.setdefault(name, {})[door.name] = method
    return {
        name: type(wsgi.Controller)(name, (wsgi.Controller,), of_it)()
        for name, of_it in methods.items()
    }
