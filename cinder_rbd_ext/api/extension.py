# SPDX-License-Identifier: Apache-2.0

"""The class of the API extension, for ``osapi_volume_extension``."""

from typing import Any

from cinder.api import extensions

from cinder_rbd_ext import policies
from cinder_rbd_ext.api import attachments
from cinder_rbd_ext.api import compute_hosts
from cinder_rbd_ext.api import groups
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import messages
from cinder_rbd_ext.api import metadata
from cinder_rbd_ext.api import options
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import snapshots
from cinder_rbd_ext.api import types
from cinder_rbd_ext.api import volumes
from rbd_volume_options import wire

# Each controller of Cinder that is extended, and what extends it.
_CONTROLLERS = (
    ('volumes', volumes.VolumesController),
    ('volumes', attachments.ConnectionsController),
    ('attachments', attachments.AttachmentsController),
    ('volume_metadata', metadata.MetadataController),
    ('types', types.TypesController),
    ('extra_specs', types.ExtraSpecsController),
    ('os-volume-manage', volumes.ManageController),
    ('manageable_volumes', volumes.ManageController),
    ('groups', groups.GroupsController),
    ('consistencygroups', groups.ConsistencyGroupsController),
    ('group_snapshots', groups.GroupSnapshotsController),
    ('cgsnapshots', groups.GroupSnapshotsController),
    ('backups', volumes.BackupsController),
    ('snapshots', snapshots.SnapshotsController),
    ('os-snapshot-manage', snapshots.SnapshotsController),
    ('manageable_snapshots', snapshots.SnapshotsController),
    ('messages', messages.MessagesController),
    ('snapshot_metadata', snapshots.SnapshotMetadataController),
)


class RBDVolumeOptions(extensions.ExtensionDescriptor):
    """Layout, image features and cache mode of volumes on Ceph RBD."""

    name = 'RBDVolumeOptions'
    alias = wire.ALIAS
    updated = '2026-11-21T00:00:00+00:00'

    def __init__(self, ext_mgr: Any) -> None:
        super().__init__(ext_mgr)
        policies.register()
        refusals.show_reasons_only()
        self._reported = pools.ReportedPools()
        self._types = known_types.KnownTypes()

    def get_resources(self) -> list[Any]:
        """Return the routes of the extension."""
        shared = self._reported, self._types
        return [
            extensions.ResourceExtension(
                wire.ALIAS,
                options.OptionsController(*shared),
                custom_routes_fn=self._route,
            ),
            extensions.ResourceExtension(
                wire.HOSTS_ROUTE.removeprefix('/'),
                compute_hosts.HostsController(*shared),
            ),
        ]

    def _route(self, mapper: Any, resource: Any) -> None:
        """Add routes, and extend POST of backups.

        Cinder has two resources of backups, and extends only the other one.
        """
        options.route_all_names(mapper, resource)
        controller = volumes.BackupsController(self._reported, self._types)
        for route in mapper.matchlist:
            if route.routepath == '/backups':
                route.defaults['controller'].register_extensions(controller)
                break

    def get_controller_extensions(self) -> list[Any]:
        """Return the controllers that extend Cinder's own ones."""
        return [
            extensions.ControllerExtension(
                self, name, controller(self._reported, self._types)
            )
            for name, controller in _CONTROLLERS
        ]
