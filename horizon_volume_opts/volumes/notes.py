# SPDX-License-Identifier: Apache-2.0

"""Notes in two stock forms that cannot have fields for the options.

A line says what the volume gets, where a user could otherwise lose options.
"""

from typing import Any

from django.utils.translation import gettext_lazy as _
from openstack_dashboard.dashboards.admin.backups import views as admin_backups
from openstack_dashboard.dashboards.admin.volumes import views as admin_volumes
from openstack_dashboard.dashboards.project.backups import views as backups

from horizon_volume_opts import discovery
from horizon_volume_opts import refusals
from horizon_volume_opts import replacements
from horizon_volume_opts.volumes import group

_RESTORE = _(
    'A new volume gets the RBD volume options of the default volume type. To '
    'use other options, create a volume with them first and select it here.'
)
_MANAGE = _(
    'The RBD image keeps its layout and its features. Cinder refuses an image '
    'that contradicts its volume type or the rbd: keys in the metadata. To '
    'set a cache mode, add rbd:cache_mode=<mode> to the metadata.'
)


class NotedForm(group.StockForm):
    """A mixin for a stock form with a note.

    The note is shown if a volume type has RBD volume options.
    """

    note: Any
    after: str

    def extend(self) -> None:
        """Add the note."""
        try:
            visible = discovery.by_type(self.request).values()
        except discovery.Unavailable:
            return
        if any(offer.reason is None for offer in visible):
            line = group.GroupField(content=lambda: group.note(self.note))
            self.group(line, after=self.after)

    def refuse(self, refusal: refusals.Refusal, data: Any) -> None:
        """Show a refusal at the metadata; of a key, or above the form."""
        text, name = refusal.text, None
        if refusal.key:
            text, name = f'{refusal.key} = {text}', 'metadata'
        self.show_error(name, text)


class RestoreForm(NotedForm):
    """A mixin for the form Restore Backup."""

    note, after = _RESTORE, 'volume_id'


class ManageForm(NotedForm):
    """A mixin for the form Manage Volume, which has a field for metadata."""

    note, after = _MANAGE, 'metadata'


def use_forms() -> None:
    """Extend the forms of Horizon's views; a hook."""
    for view in (
        backups.RestoreBackupView,
        admin_backups.AdminRestoreBackupView,
    ):
        replacements.extend_form(view, RestoreForm)
    replacements.extend_form(admin_volumes.ManageVolumeView, ManageForm)
