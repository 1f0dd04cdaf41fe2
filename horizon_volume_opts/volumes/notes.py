# SPDX-License-Identifier: Apache-2.0

"""Notes in the stock forms that cannot have fields for the options.

The requests of these forms have no metadata, or have it in a text field. A
line in each form says what the volume gets, and where options can be selected
instead.
"""

from typing import Any

from django.utils.translation import gettext_lazy as _
from openstack_dashboard.dashboards.admin.backups import views as admin_backups
from openstack_dashboard.dashboards.admin.volumes import views as admin_volumes
from openstack_dashboard.dashboards.project.backups import views as backups
from openstack_dashboard.dashboards.project.vg_snapshots import views as shots
from openstack_dashboard.dashboards.project.volume_groups import views as sets
from openstack_dashboard.dashboards.project.volumes import views as volumes

from horizon_volume_opts import discovery
from horizon_volume_opts.volumes import group
from horizon_volume_opts.volumes import refusing

_RESTORE = _(
    'A new volume gets the RBD volume options of the default volume type. To '
    'use other options, create a volume with them first and select it here.'
)
_OF_GROUP = _(
    'The new volumes have the volume types of their sources and inherit their '
    'RBD layout. Other RBD volume options cannot be selected here.'
)
_TRANSFER = _('The volume keeps its RBD layout and its cache mode.')
_UPLOAD = _(
    'The Glance image gets the layout of its store. Select RBD volume options '
    'when you create a volume from it.'
)
_SNAPSHOT = _(
    'A volume that you create from the snapshot inherits the RBD layout of '
    'this volume, unless you select another one.'
)
_MANAGE = _(
    'The RBD image keeps its layout and its features. Cinder refuses an image '
    'that contradicts its volume type or the rbd: keys in the metadata. To '
    'set a cache mode, add rbd:cache_mode=<mode> to the metadata.'
)
_MIGRATE = _(
    'On a back end that supports RBD volume options, the volume keeps its '
    'layout and its features. To change them, change the volume type.'
)

#: The views, the field before the note, and the note.
NOTES: tuple[tuple[Any, str, Any], ...] = (
    (backups.RestoreBackupView, 'volume_id', _RESTORE),
    (admin_backups.AdminRestoreBackupView, 'volume_id', _RESTORE),
    (sets.CloneGroupView, 'group_source', _OF_GROUP),
    (shots.CreateGroupView, 'snapshot_source', _OF_GROUP),
    (volumes.AcceptTransferView, 'auth_key', _TRANSFER),
    (volumes.UploadToImageView, 'disk_format', _UPLOAD),
    (volumes.CreateSnapshotView, 'description', _SNAPSHOT),
    (admin_volumes.ManageVolumeView, 'metadata', _MANAGE),
    (admin_volumes.MigrateVolumeView, 'host', _MIGRATE),
)


class NotedForm(group.GroupedForm):
    """A mixin for a stock form with a note.

    The note is shown if a volume type has RBD volume options.
    """

    note: tuple[str, Any]
    request: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        try:
            visible = discovery.by_type(self.request).values()
        except discovery.Unavailable:
            return
        if any(offer.reason is None for offer in visible):
            after, text = self.note
            self.group(group.Note(text), after=after)


class RefusableForm(NotedForm):
    """A form whose keys Cinder can refuse, in a field for metadata."""

    def handle(self, request: Any, data: Any) -> Any:
        """Send the request; show a refusal and keep the input."""
        try:
            with refusing.showing(request):
                return super().handle(request, data)  # type: ignore[misc]
        except refusing.RefusedRequest as refused:
            refusal = refused.refusal
            if refusal.key:
                text = f'{refusal.key} = {refusal.text}'
                self.add_error('metadata', text)  # type: ignore[attr-defined]
            else:
                self.api_error(refusal.text)  # type: ignore[attr-defined]
            return False


def use_forms() -> None:
    """Use forms with notes in Horizon's views; a hook."""
    refusing.wrap('volume_manage')
    for view, after, text in NOTES:
        stock = view.form_class
        base = NotedForm
        if view is admin_volumes.ManageVolumeView:
            base = RefusableForm
        view.form_class = type(
            stock.__name__, (base, stock), {'note': (after, text)}
        )
