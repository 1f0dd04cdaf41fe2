# SPDX-License-Identifier: Apache-2.0

"""Compile the catalogues of translations: what services load.

setup.py does this before each build, and unit tests before they begin, so
that git has the catalogues alone. Requires Babel if one is not compiled yet.
"""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def write() -> None:
    """Compile each catalogue (``.po``) that is newer than its result."""
    for path in ROOT.glob('*/locale/*/LC_MESSAGES/*.po'):
        target = path.with_suffix('.mo')
        if target.exists() and _changed(target) > _changed(path):
            continue
        from babel.messages import mofile
        from babel.messages import pofile

        # Processes that start at the same time all write whole files.
        draft = target.with_suffix(f'.{os.getpid()}')
        with path.open('rb') as source, draft.open('wb') as file:
            mofile.write_mo(file, pofile.read_po(source))
        draft.replace(target)


def _changed(path: pathlib.Path) -> float:
    return path.stat().st_mtime
