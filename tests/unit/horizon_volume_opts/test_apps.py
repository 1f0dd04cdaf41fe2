# SPDX-License-Identifier: Apache-2.0

"""The Django application."""

from unittest import mock

from django import apps

from horizon_volume_opts import replacements
from tests.unit import base


class ConfigTestCase(base.TestCase):
    def test_ready_runs_the_hooks(self) -> None:
        config = apps.apps.get_app_config('horizon_volume_opts')
        with mock.patch.object(replacements, 'run', autospec=True) as run:
            config.ready()
        run.assert_called_once_with()
