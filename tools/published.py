# SPDX-License-Identifier: Apache-2.0

"""Write the files that are derived from the definitions of the options.

The metadata definitions are in git, because services load them from a
checkout. The pages include the others, which Sphinx's configuration writes.
"""

import json
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rbd_volume_options import keys  # noqa: E402
from rbd_volume_options import published  # noqa: E402
from rbd_volume_options import registry  # noqa: E402

_TABLE = """.. list-table::
   :header-rows: 1
   :widths: 24 46 30

   * - Key
     - Description
     - Default of the back end
"""


def _paragraph(text: str) -> str:
    lines = textwrap.wrap(text, 72, break_long_words=False)
    return '\n       '.join(lines)


def table() -> str:
    """Return the table of keys for the documentation."""
    rows = [
        f'   * - ``{keys.PREFIX}{name}``\n'
        f'     - {_paragraph(each["description"])}\n'
        f'     - ``{registry.OPTIONS[keys.PREFIX + name].conf_name}``\n'
        for name, each in published.metadefs()['properties'].items()
    ]
    return _TABLE + ''.join(rows)


def _text(document: object) -> str:
    return json.dumps(document, indent=2) + '\n'


def definitions() -> dict[str, str]:
    """Return the text of each file that git has, by its path."""
    path = 'etc/metadefs/rbd-volume-options.json'
    return {path: _text(published.metadefs())}


def included() -> dict[str, str]:
    """Return the text of each file that pages include, by its path."""
    return {
        'doc/source/api/options.json': _text(published.response_schema()),
        'doc/source/api/keys.json': _text(published.keys_schema()),
    }


def write(documents: dict[str, str]) -> None:
    """Write files that do not have their text yet."""
    for name, text in documents.items():
        path = ROOT / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == '__main__':
    write(definitions())
