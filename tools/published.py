# SPDX-License-Identifier: Apache-2.0

"""Write the files that are derived from the definitions of the options."""

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


def _table() -> str:
    """Return the table of keys for the documentation."""
    rows = [
        f'   * - ``{keys.PREFIX}{name}``\n'
        f'     - {_paragraph(each["description"])}\n'
        f'     - ``{registry.OPTIONS[keys.PREFIX + name].conf_name}``\n'
        for name, each in published.metadefs()['properties'].items()
    ]
    return _TABLE + ''.join(rows)


def documents() -> dict[str, str]:
    """Return the text of each file, by its path."""
    return {'doc/source/user/keys-table.inc': _table(), **_json()}


def _json() -> dict[str, str]:
    return {
        path: json.dumps(document, indent=2) + '\n'
        for path, document in (
            ('doc/source/api/options.json', published.response_schema()),
            ('doc/source/api/keys.json', published.keys_schema()),
            ('etc/metadefs/rbd-volume-options.json', published.metadefs()),
        )
    }


if __name__ == '__main__':
    for name, text in documents().items():
        (ROOT / name).write_text(text)
