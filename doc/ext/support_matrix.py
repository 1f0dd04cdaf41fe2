# SPDX-License-Identifier: Apache-2.0

"""The directive ``support-matrix``: a table from a file like Cinder's."""

import configparser
import pathlib

from sphinx.util import docutils

_DRIVER = 'driver.'
_NOTES = 'driver-notes.'
_OPERATION = 'operation.'
_STATUS = ('complete', 'partial', 'missing')


def read(path):
    """Return the titles of the columns, and the rows of a file.

    :raises ValueError: a row has another status than those of a matrix, or
        lacks a column
    """
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(path, encoding='utf-8')
    drivers = {
        name.removeprefix(_DRIVER): parser[name]['title']
        for name in parser.sections()
        if name.startswith(_DRIVER)
    }
    rows = []
    for name in parser.sections():
        if name.startswith(_OPERATION):
            section = parser[name]
            cells = [_cell(section, driver) for driver in drivers]
            rows.append([section['title'], *cells])
    return list(drivers.values()), rows


def _cell(section, driver):
    status = section.get(_DRIVER + driver)
    if status not in _STATUS:
        raise ValueError(f'{section.name}: {driver} is {status!r}')
    notes = section.get(_NOTES + driver)
    return f'{status}: {notes}' if notes else status


class SupportMatrix(docutils.SphinxDirective):
    """Builds the table of the file that it names."""

    required_arguments = 1

    def run(self):
        """Insert the table in the page, as text."""
        _, name = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(name)
        titles, rows = read(pathlib.Path(name))
        width = 60 // len(titles)
        widths = ' '.join(['40', *[str(width)] * len(titles)])
        lines = ['.. list-table::', '   :header-rows: 1']
        lines += [f'   :widths: {widths}', '']
        for row in (['Feature', *titles], *rows):
            lines += [f'   * - {row[0]}', *(f'     - {x}' for x in row[1:])]
        return self.parse_text_to_nodes('\n'.join(lines))


def setup(app):
    """Add the directive."""
    app.add_directive('support-matrix', SupportMatrix)
    return {'parallel_read_safe': True}
