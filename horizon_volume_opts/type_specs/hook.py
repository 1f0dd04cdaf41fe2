# SPDX-License-Identifier: Apache-2.0

"""Sets our forms in the views of stock Horizon."""

from horizon import forms as horizon_forms
from openstack_dashboard.dashboards.admin.volume_types.extras import views

from horizon_volume_opts.type_specs import deletion
from horizon_volume_opts.type_specs import forms


def use_forms() -> None:
    """Use our forms to create and edit extra specs; a hook."""
    views.CreateView.form_class = forms.CreateExtraSpec
    views.EditView.form_class = forms.EditExtraSpec
    if not hasattr(views.EditView, '_populate_context'):
        # form_invalid of stock Horizon calls this method, which does not
        # exist: a refused value would cause an internal server error.
        views.EditView.form_invalid = horizon_forms.ModalFormView.form_invalid


def use_table() -> None:
    """Use our table of extra specs, and delete pairs as one; a hook."""
    deletion.delete_pairs()
    views.IndexView.table_class = deletion.ExtraSpecsTable
