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
from horizon_volume_opts import guard
from horizon_volume_opts import replacements
from horizon_volume_opts import requests_to_cinder
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


class NotedForm(group.GroupedForm):
    """A mixin for a stock form with a note.

    The note is shown if a volume type has RBD volume options.
    """

    note: Any
    after: str
    request: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        with guard.stock_page('a form with a note'):
            try:
                visible = discovery.by_type(self.request).values()
            except discovery.Unavailable:
                return
            if any(offer.reason is None for offer in visible):
                self.group(group.Note(self.note), after=self.after)


class RestoreForm(NotedForm):
    """A mixin for the form Restore Backup."""

    note, after = _RESTORE, 'volume_id'


class ManageForm(NotedForm):
    """A mixin for the form Manage Volume, which has a field for metadata."""

    note, after = _MANAGE, 'metadata'
    fields: dict[str, Any]

    def handle(self, request: Any, data: Any) -> Any:
        """Send the request; show a refusal and keep the input."""
        try:
            with requests_to_cinder.submitting(request):
                return super().handle(request, data)  # type: ignore[misc]
        except requests_to_cinder.RefusedRequest as refused:
            refusal = refused.refusal
            text, name = refusal.text, None
            if refusal.key:
                text = f'{refusal.key} = {text}'
                name = 'metadata' if 'metadata' in self.fields else None
            self.add_error(name, text)  # type: ignore[attr-defined]
            return False


def use_forms() -> None:
    """Extend the forms of Horizon's views; a hook."""
    for view in (
        backups.RestoreBackupView,
        admin_backups.AdminRestoreBackupView,
    ):
        replacements.extend_form(view, RestoreForm)
    replacements.extend_form(admin_volumes.ManageVolumeView, ManageForm)
