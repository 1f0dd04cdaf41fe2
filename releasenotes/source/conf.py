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

"""Sphinx configuration of the release notes."""

project = 'RBD volume options release notes'
copyright = 'RBD volume options contributors'

extensions = ['openstackdocstheme', 'reno.sphinxext']

openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_pdf_link = False
openstackdocs_use_storyboard = False

html_theme = 'openstackdocs'
# As in doc/source/conf.py.
templates_path = ['../../doc/templates']
html_theme_options = {
    'analytics_tracking_code': '',
    'display_badge': False,
    'show_other_versions': False,
}
