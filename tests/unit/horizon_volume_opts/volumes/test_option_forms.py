# SPDX-License-Identifier: Apache-2.0

"""What the forms of options have in common."""

from django.urls import reverse

from horizon_volume_opts import volume_types
from horizon_volume_opts.volumes import change_options
from horizon_volume_opts.volumes import option_forms
from tests.unit import base


class ViewTestCase(base.TestCase):
    def test_each_view_returns_to_the_table_of_its_panel(self) -> None:
        views: tuple[type[option_forms.OptionsView], ...] = (
            change_options.ChangeOptionsView,
            change_options.AdminChangeOptionsView,
            volume_types.TypeOptionsView,
        )
        for view in views:
            path = reverse(f'{view.panel}:index')
            self.assertEqual(path, view().success_url)
            form = reverse(f'{view.panel}:{option_forms.URL_NAME}', args=['v'])
            self.assertEqual(f'{path}v/rbd_options/', form)
