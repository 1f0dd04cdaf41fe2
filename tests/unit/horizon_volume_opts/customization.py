# SPDX-License-Identifier: Apache-2.0

"""A customization module of an operator."""

from typing import Any

from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.project.volumes import forms
from openstack_dashboard.dashboards.project.volumes import tables
from openstack_dashboard.dashboards.project.volumes import views


class CreateForm(forms.CreateForm):
    """Inherits from the stock form; the options are added to it."""

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        # Users do not select a volume type.
        del self.fields['type']

    def clean(self) -> Any:
        """Check the name, too."""
        data = super().clean()
        if data.get('name') == 'forbidden':
            self.add_error('name', 'Choose another name.')
        return data


views.CreateView.form_class = CreateForm


def volume_create(request: Any, size: int, *args: Any, **kwargs: Any) -> Any:
    """Replaces the stock function, and adds metadata to each volume."""
    metadata = {'cost_center': '42'}
    client = cinder.cinderclient(request)
    return cinder.Volume(client.volumes.create(size, metadata=metadata))


cinder.volume_create = volume_create

# Users do not extend volumes, nor change their options.
tables.VolumesTable._meta.row_actions = tuple(
    action
    for action in tables.VolumesTable._meta.row_actions
    if action.name not in ('extend', 'rbd_options')
)
