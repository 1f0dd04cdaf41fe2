# SPDX-License-Identifier: Apache-2.0

"""Sphinx configuration of the documentation."""

import pathlib
import sys

from cliff import sphinxext

sys.path.append(str(pathlib.Path(__file__).parents[1] / 'ext'))
sys.path.append(str(pathlib.Path(__file__).parents[2] / 'tools'))

project = 'RBD volume options'
copyright = 'RBD volume options contributors'

extensions = [
    'cliff.sphinxext',
    'code_tables',
    'openstackdocstheme',
    'options_table',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'oslo_policy.sphinxpolicygen',
    'plots',
    'support_matrix',
]

# The suite has no repository at opendev.org that the theme could link to.
openstackdocs_use_storyboard = False
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_pdf_link = False

html_theme = 'openstackdocs'
html_static_path = ['_static']
html_css_files = ['tables.css']
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

# Options of the client's output, which all commands have.
autoprogram_cliff_ignored = [
    '--help',
    '--format',
    '--column',
    '--quote',
    '--noindent',
    '--prefix',
    '--max-width',
    '--fit-width',
    '--print-empty',
    '--sort-column',
    '--sort-ascending',
    '--sort-descending',
]
autoprogram_cliff_app_dist_name = 'rbd-volume-options'

man_pages = [
    (f'cli/{name}', name, summary, copyright, 1)
    for name, summary in (
        ('openstack-volume-rbd', 'volumes with RBD volume options'),
        ('cinder-rbd-ext', 'commands for operators of RBD volume options'),
        ('nova-rbd-cache', 'check RBD cache modes on a compute host'),
    )
]
# In the footer of the man pages: equal sources make equal pages.
today = project

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


class ProgramCommands(sphinxext.AutoprogramCliffDirective):
    """The commands that an application adds itself, not by entry points."""

    def run(self):
        """Return a section for each command."""
        manager = self._load_app().command_manager
        commands = {
            name: self._load_command(manager, name)
            for name in manager.commands
            if name not in ('help', 'complete')
        }
        self.env = self.state.document.settings.env
        return self._generate_command_nodes(
            commands, self.options['application']
        )

    def _drop_ignored_options(self, parser, ignored_opts):
        """Drop options; put defaults into the help, as argparse does."""
        super()._drop_ignored_options(parser, ignored_opts)
        for action in parser._actions:
            default = str(action.default)
            action.help = (action.help or '').replace('%(default)s', default)


def setup(app):
    """Have Sphinx call what is defined here."""
    app.add_directive('program-commands', ProgramCommands)
