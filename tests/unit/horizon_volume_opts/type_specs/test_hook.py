# SPDX-License-Identifier: Apache-2.0

"""The stock views use our forms."""

from openstack_dashboard.dashboards.admin.volume_types.extras import views

from horizon_volume_opts import hooks
from horizon_volume_opts.type_specs import deletion
from horizon_volume_opts.type_specs import forms
from horizon_volume_opts.type_specs import hook
from tests.unit import base


class UseFormsTestCase(base.TestCase):
    def test_is_listed_and_has_run(self) -> None:
        name = f'{hook.__name__}.{hook.use_forms.__name__}'
        self.assertIn(name, hooks.HOOKS)
        self.assertIs(forms.CreateExtraSpec, views.CreateView.form_class)
        self.assertIs(forms.EditExtraSpec, views.EditView.form_class)


class UseTableTestCase(base.TestCase):
    def test_is_listed_and_has_run(self) -> None:
        name = f'{hook.__name__}.{hook.use_table.__name__}'
        self.assertIn(name, hooks.HOOKS)
        self.assertIs(deletion.ExtraSpecsTable, views.IndexView.table_class)
