# SPDX-License-Identifier: Apache-2.0

"""RBD volume options.

Copy or link this file into ``openstack_dashboard/local/enabled``.
"""

# This file extends existing panels and adds a new one.
FEATURE = 'rbd_volume_options'

PANEL_DASHBOARD = 'admin'
PANEL_GROUP = 'volume'
PANEL = 'rbd_images'
ADD_PANEL = 'horizon_volume_opts.admin_images.panel.RBDImages'

ADD_INSTALLED_APPS = ['horizon_volume_opts']

# Listed by name, because AUTO_DISCOVER_STATIC_FILES requires Angular's naming.
ADD_JS_FILES: list[str] = [
    'horizon_volume_opts/js/group.js',
    'horizon_volume_opts/js/form-errors.js',
    'horizon_volume_opts/images/images.module.js',
    'horizon_volume_opts/images/options.controller.js',
]
ADD_ANGULAR_MODULES = ['horizon.dashboard.rbd-volume-options.images']

ADD_SCSS_FILES: list[str] = ['horizon_volume_opts/scss/options.scss']

# A tab for the RBD image, next to the stock tabs of a volume's details.
_TAB = (10, 'horizon_volume_opts.volumes.details.RBDTab')
EXTRA_TABS = {
    f'openstack_dashboard.dashboards.{dashboard}.volumes.tabs'
    '.VolumeDetailTabs': (_TAB,)
    for dashboard in ('project', 'admin')
}
