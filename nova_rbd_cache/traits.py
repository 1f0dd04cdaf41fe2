# SPDX-License-Identifier: Apache-2.0

"""Traits of compute nodes in Placement, one for each allowed cache mode.

nova-compute reports them. A flavor or an image that requires a trait
(``trait:CUSTOM_RBD_CACHE_WRITEBACK=required``) is scheduled to hosts that
allow the mode.
"""

from rbd_volume_options.families import cache_modes


def of_mode(mode: cache_modes.CacheMode) -> str:
    """Return the trait of a compute node that allows a cache mode."""
    return f'CUSTOM_RBD_CACHE_{mode.name}'
