# SPDX-License-Identifier: Apache-2.0

"""The file for Horizon's ``enabled`` folder, as Horizon reads it."""

import pathlib

from django import apps
from django.conf import settings

import horizon_volume_opts
from horizon_volume_opts.enabled import _3110_rbd_volume_options as enabled
from tests import runs
from tests.unit import base


@runs.tags(runs.RELEASES)
class EnabledTestCase(base.TestCase):
    def test_horizon_loads_the_application(self) -> None:
        self.assertTrue(apps.apps.is_installed('horizon_volume_opts'))
        self.assertIn(
            'horizon_volume_opts', settings.HORIZON_CONFIG['plugins']
        )

    def test_horizon_knows_each_file(self) -> None:
        config = settings.HORIZON_CONFIG
        self.assertEqual(
            set(),
            {*enabled.ADD_JS_FILES, *enabled.ADD_SCSS_FILES}
            - {*config['js_files'], *config['scss_files']},
        )

    def test_each_file_is_in_the_package(self) -> None:
        static = pathlib.Path(horizon_volume_opts.__file__).parent / 'static'
        missing = [
            name
            for name in [*enabled.ADD_JS_FILES, *enabled.ADD_SCSS_FILES]
            if not (static / name).is_file()
        ]
        self.assertEqual([], missing)

    def test_each_module_of_angular_is_defined(self) -> None:
        # An undefined module would break every page.
        static = pathlib.Path(horizon_volume_opts.__file__).parent / 'static'
        scripts = [
            (static / name).read_text() for name in enabled.ADD_JS_FILES
        ]
        known = settings.HORIZON_CONFIG['angular_modules']
        for name in enabled.ADD_ANGULAR_MODULES:
            self.assertIn(name, known)
            defined = f"OURS = '{name}'"
            self.assertTrue(any(defined in script for script in scripts))
