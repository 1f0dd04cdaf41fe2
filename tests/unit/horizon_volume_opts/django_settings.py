# SPDX-License-Identifier: Apache-2.0

"""Horizon's test settings with the plug-in's ``enabled`` file."""

import pathlib

from openstack_dashboard import enabled

import horizon_volume_opts

# Equivalent to copying the file there, as in an installation.
_OURS = pathlib.Path(horizon_volume_opts.__file__).parent / 'enabled'
if str(_OURS) not in enabled.__path__:
    enabled.__path__.append(str(_OURS))

from tests.unit.horizon_volume_opts.stock_settings import *  # noqa: E402,F403,H303
