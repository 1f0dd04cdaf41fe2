# SPDX-License-Identifier: Apache-2.0

"""Reads whole files, and writes them atomically.

Readers get the old content or the new content. The encoding is UTF-8 in any
locale, as node_exporter expects it.
"""

from collections.abc import Iterable
import os
import pathlib
import stat
import tempfile

_ENCODING = 'utf-8'
# Mode of the files. node_exporter and monitoring read them as other users.
_MODE = 0o644


def read(path: pathlib.Path) -> str:
    """Return the text of a file.

    :raises ValueError: if it cannot be read
    """
    try:
        # Without O_NONBLOCK, a FIFO would wait for a writer.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(number, encoding=_ENCODING) as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise ValueError(f'Cannot read {path}: not a regular file')
            return file.read()
    except (OSError, UnicodeError) as error:
        why = getattr(error, 'strerror', None) or error
        raise ValueError(f'Cannot read {path}: {why}') from error


def check(path: pathlib.Path) -> None:
    """Check that a file can be written, before its content is computed.

    :raises ValueError: if it cannot be written
    """
    folder = path.parent
    if path.is_dir():
        raise ValueError(f'{path} is a folder, not a file')
    if not folder.is_dir():
        raise ValueError(f'Cannot write {path}: folder {folder} is missing')
    needed = path if path.exists() and _is_special(path) else folder
    if not os.access(needed, os.W_OK):
        raise ValueError(f'Cannot write {path}: no permission for {needed}')


def write(
    path: pathlib.Path, text: str | Iterable[str], is_new: bool = False
) -> None:
    """Replace a file by a new one in one step.

    Links and devices, such as ``/dev/stdout``, are written, not replaced.

    :param text: the content, or its parts if it can be long
    :param is_new: whether the file must not exist
    :raises OSError: if it cannot be written; an existing file is kept
    :raises FileExistsError: if it must not exist and does
    """
    parts = [text] if isinstance(text, str) else text
    if _is_special(path) and not is_new:
        with path.open('w', encoding=_ENCODING) as file:
            file.writelines(parts)
        return
    number, name = tempfile.mkstemp('.tmp', f'.{path.name}.', path.parent)
    try:
        with os.fdopen(number, 'w', encoding=_ENCODING) as file:
            os.fchmod(file.fileno(), _MODE)
            file.writelines(parts)
        if is_new:
            # Unlike a rename, it fails if somebody has created the file.
            os.link(name, path)
            os.unlink(name)
        else:
            os.replace(name, path)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError) and error.filename is None:
            # That of a full disk has no name.
            error.filename = str(path)
        raise


def _is_special(path: pathlib.Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_file())
