# SPDX-License-Identifier: Apache-2.0

"""What a change touches, and the unit tests of it."""

from __future__ import annotations

from collections.abc import Iterable
import pathlib
import re
import subprocess

_UNIT = pathlib.PurePosixPath('tests/unit')


def _git(root: pathlib.Path, *words: str) -> list[str]:
    done = subprocess.run(
        ['git', *words], cwd=root, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.splitlines()


def files(root: pathlib.Path) -> list[str]:
    """Return the files that differ from the branch that is proposed to.

    Without changes of its own, the checkout is compared with the commit
    before its last one. Removed files are left out.
    """
    untracked = _git(root, 'ls-files', '--others', '--exclude-standard')
    for base in (*_git(root, 'merge-base', 'HEAD', 'main'), 'HEAD~1'):
        names = {*_git(root, 'diff', '--name-only', base), *untracked}
        if names:
            return sorted(name for name in names if (root / name).is_file())
    return []


def unit_tests(changed: Iterable[str], root: pathlib.Path) -> list[str]:
    """Return the files of the unit tests of changed files.

    Those of ``package/folder/noun.py`` are ``test_noun.py`` and
    ``test_noun_*.py`` of the same folder in ``tests/unit``, or else all of
    that folder. Of a module that tests share, they are those next to it. A
    file of the top folder has none.
    """
    tests: set[str] = set()
    for name in map(pathlib.PurePosixPath, changed):
        if name.suffix != '.py' or len(name.parts) == 1:
            continue
        is_test = _UNIT in name.parents
        folder = name.parent if is_test else _UNIT / _mirrored(name).parent
        stem = name.stem.removeprefix('test_')
        known = sorted((root / folder).glob('test_*.py'))
        named = [
            x for x in known if re.fullmatch(f'test_{stem}(_.*)?', x.stem)
        ]
        tests.update(str(x.relative_to(root)) for x in named or known)
    return sorted(tests)


def _mirrored(name: pathlib.PurePosixPath) -> pathlib.PurePosixPath:
    # The programs in tools/ are top-level packages.
    return name.relative_to('tools') if name.parts[0] == 'tools' else name
