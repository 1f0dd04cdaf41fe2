# SPDX-License-Identifier: Apache-2.0

"""The table of keys, and the schemas, from the definitions of the options."""

from docutils import nodes
from docutils import statemachine
import published
from sphinx.util import docutils


class OptionsTable(docutils.SphinxDirective):
    """A row for each key: description, and option of the back end."""

    def run(self):
        """Return the table."""
        lines = published.table().splitlines()
        parsed = nodes.Element()
        content = statemachine.StringList(lines, 'published')
        self.state.nested_parse(content, 0, parsed)
        return parsed.children


def setup(app):
    """Add the directive, and write the files that pages include."""
    published.write()
    app.add_directive('options-table', OptionsTable)
    return {'parallel_read_safe': True}
