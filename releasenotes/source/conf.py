# SPDX-License-Identifier: Apache-2.0

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
