# SPDX-License-Identifier: Apache-2.0

"""The Django application that the ``enabled`` file adds to Horizon."""

from django import apps

from horizon_volume_opts import replacements


class RBDVolumeOptionsConfig(apps.AppConfig):
    """Sets up the plug-in in Horizon once, before the first request."""

    name = 'horizon_volume_opts'
    verbose_name = 'RBD volume options'

    def ready(self) -> None:
        """Run every hook; Django calls this once per process."""
        replacements.run()
