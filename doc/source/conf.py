# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Sphinx configuration of the documentation."""

import pathlib
import sys

from cinder_rbd_ext.api import routes

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'ext'))

project = 'RBD volume options'
copyright = 'RBD volume options contributors'

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'oslo_policy.sphinxpolicygen',
    'support_matrix',
]

# The suite has no repository at opendev.org that the theme could link to.
openstackdocs_use_storyboard = False
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_pdf_link = False

html_theme = 'openstackdocs'
html_static_path = ['_static']
pygments_style = 'native'
# Header, footer, sidebar and license of the theme are those of openstack.org.
templates_path = ['../templates']
# Without a code, pages load no analytics. The badge is loaded from
# docs.openstack.org.
html_theme_options = {
    'analytics_tracking_code': '',
    'display_badge': False,
    'show_other_versions': False,
}

config_generator_config_file = [
    (
        '../../etc/oslo-config-generator/cinder_rbd_ext.conf',
        '_static/cinder_rbd_ext',
    ),
    (
        '../../etc/oslo-config-generator/glance_store_objmap.conf',
        '_static/glance_store_objmap',
    ),
    (
        '../../etc/oslo-config-generator/nova_rbd_cache.conf',
        '_static/nova_rbd_cache',
    ),
]

policy_generator_config_file = [
    (
        '../../etc/oslo-policy-generator/cinder_rbd_ext.conf',
        '_static/cinder_rbd_ext',
    ),
]


def add_routes(app, docname, source):
    """Put the tables of routes into their page."""
    if docname == 'contributor/routes':
        source[0] = source[0].replace(routes.PLACE, routes.table())


def setup(app):
    """Have Sphinx call what is defined here."""
    app.connect('source-read', add_routes)
