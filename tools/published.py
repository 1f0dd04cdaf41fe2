# SPDX-License-Identifier: Apache-2.0

"""What pages include that is derived from the definitions of the options."""

import textwrap

import compiled

from rbd_volume_options import keys
from rbd_volume_options import published
from rbd_volume_options import registry

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


def write() -> None:
    """Write the schemas that pages include."""
    for name, document in (
        ('options', published.response_schema()),
        ('keys', published.keys_schema()),
    ):
        path = compiled.ROOT / f'doc/source/api/{name}.json'
        compiled.replace(path, compiled.text_of(document).encode())
