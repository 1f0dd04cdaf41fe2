# SPDX-License-Identifier: Apache-2.0

"""The Tempest plug-in with the tests, their options and their client."""

import pathlib
from typing import Any

from tempest import config
from tempest.test_discover import plugins

from rbd_tempest_plugin import config as our_config
from rbd_tempest_plugin import schemas


class RBDVolumeOptionsTempestPlugin(plugins.TempestPlugin):
    """The entry point of namespace ``tempest.test_plugins``."""

    def load_tests(self) -> tuple[str, str]:
        """Return the folder of the tests and their top-level folder."""
        here = pathlib.Path(__file__).resolve().parent
        return str(here / 'tests'), str(here.parent)

    def register_opts(self, conf: Any) -> None:
        """Register the options and add our attributes to the schemas.

        Tempest calls this in each of its processes.
        """
        conf.register_opt(our_config.SERVICE_OPTION, group='service_available')
        config.register_opt_group(conf, our_config.GROUP, our_config.OPTIONS)
        config.register_opt_group(
            conf, our_config.FEATURE_GROUP, our_config.FEATURES
        )
        schemas.add_attributes()

    def get_opt_lists(self) -> list[tuple[str, list[Any]]]:
        """Return the options for sample files."""
        return [
            ('service_available', [our_config.SERVICE_OPTION]),
            (our_config.GROUP.name, our_config.OPTIONS),
            (our_config.FEATURE_GROUP.name, our_config.FEATURES),
        ]

    def get_service_clients(self) -> list[dict[str, Any]]:
        """Return the parameters with which Tempest creates our client."""
        parameters = {
            'name': 'rbd_volume_options_v3',
            'service_version': 'rbd_volume_options.v3',
            'module_path': 'rbd_tempest_plugin.services.options_client',
            'client_names': ['OptionsClient'],
        }
        parameters.update(config.service_client_config('volume'))
        return [parameters]
