# SPDX-License-Identifier: Apache-2.0

"""Write the files that services load and that are derived from others.

setup.py does this before each build, and unit tests before they begin, so
that git has only their sources. Requires Babel if a catalogue is not compiled
yet.
"""

import io
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rbd_volume_options import published  # noqa: E402

#: The metadata definitions for Glance.
METADEFS = ROOT / 'etc/metadefs/rbd-volume-options.json'


def text_of(document: object) -> str:
    """Return a document as the text of a JSON file."""
    return json.dumps(document, indent=2) + '\n'


def write() -> None:
    """Write the metadata definitions, and compile new catalogues (``.po``)."""
    METADEFS.parent.mkdir(parents=True, exist_ok=True)
    replace(METADEFS, text_of(published.metadefs()).encode())
    for path in ROOT.glob('*/locale/*/LC_MESSAGES/*.po'):
        target = path.with_suffix('.mo')
        if target.exists() and _changed(target) > _changed(path):
            continue
        from babel.messages import mofile
        from babel.messages import pofile

        compiled = io.BytesIO()
        with path.open('rb') as source:
            mofile.write_mo(compiled, pofile.read_po(source))
        replace(target, compiled.getvalue())


def replace(path: pathlib.Path, content: bytes) -> None:
    """Write a file whose content differs.

    Processes that start at the same time all write whole files.
    """
    if not path.exists() or path.read_bytes() != content:
        draft = path.with_suffix(f'.{os.getpid()}')
        draft.write_bytes(content)
        draft.replace(path)


def _changed(path: pathlib.Path) -> float:
    return path.stat().st_mtime
