# SPDX-License-Identifier: Apache-2.0

"""The class of the API extension, for ``osapi_volume_extension``."""

from typing import Any

from cinder.api import extensions

from cinder_rbd_ext import policies
from cinder_rbd_ext.api import attachments
from cinder_rbd_ext.api import backups
from cinder_rbd_ext.api import groups
from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import managing
from cinder_rbd_ext.api import messages
from cinder_rbd_ext.api import metadata
from cinder_rbd_ext.api import options
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.api import refusals
from cinder_rbd_ext.api import snapshots
from cinder_rbd_ext.api import types
from cinder_rbd_ext.api import volumes
from rbd_volume_options import wire


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
        return [
            extensions.ResourceExtension(
                wire.ALIAS,
                options.OptionsController(self._reported),
                custom_routes_fn=options.route_all_names,
            ),
            extensions.ResourceExtension(
                wire.ALIAS,
                attachments.NextAttachmentController(self._reported),
                parent={
                    'member_name': 'volume',
                    'collection_name': 'volumes',
                },
            ),
        ]

    def get_controller_extensions(self) -> list[Any]:
        """Return the controllers that extend Cinder's own ones."""
        reported, known = self._reported, self._types
        controllers = (
            ('volumes', volumes.VolumesController(reported, known)),
            ('volumes', attachments.ConnectionsController(reported)),
            ('attachments', attachments.AttachmentsController(reported)),
            ('volume_metadata', metadata.MetadataController(reported)),
            ('types', types.TypesController(reported, known)),
            ('extra_specs', types.ExtraSpecsController(reported, known)),
            ('os-volume-manage', managing.ManageController(reported)),
            ('manageable_volumes', managing.ManageController(reported)),
            ('groups', groups.GroupsController(reported, known)),
            (
                'consistencygroups',
                groups.ConsistencyGroupsController(reported, known),
            ),
            ('backups', backups.BackupsController(reported)),
            ('snapshots', snapshots.SnapshotsController()),
            ('os-snapshot-manage', snapshots.SnapshotsController()),
            ('manageable_snapshots', snapshots.SnapshotsController()),
            ('messages', messages.MessagesController()),
            ('snapshot_metadata', snapshots.SnapshotMetadataController()),
        )
        return [
            extensions.ControllerExtension(self, name, controller)
            for name, controller in controllers
        ]
