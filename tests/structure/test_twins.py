# SPDX-License-Identifier: Apache-2.0

"""Names of modules: no twins within a folder, none for everything else."""

from collections.abc import Collection
import itertools
import pathlib

from tests import tree
from tests.unit import base

_FOLDERS = (*tree.PACKAGES, 'tools')
#: Shorter beginnings of two names need not be the same word.
_SHORTEST = 4
_ENDINGS = frozenset(
    {'', 's', 'es', 'y', 'ies', 'e', 'ed', 'er', 'ers', 'or', 'ors', 'al'}
    | {'ing', 'ings', 'ion', 'ions', 'ation', 'ations', 'ment', 'ments'}
)


def _stems(name: str) -> set[str]:
    """Return a name without each of the endings that it has."""
    return {
        stem
        for ending in _ENDINGS
        if len(stem := name.removesuffix(ending)) >= _SHORTEST
    }


def _twins(names: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of names that differ only in their ending."""
    return [
        (one, other)
        for one, other in itertools.combinations(sorted(names), 2)
        if _stems(one) & _stems(other)
    ]


def _modules() -> dict[str, set[str]]:
    """Return the names of modules and packages, by their folder."""
    by_folder: dict[str, set[str]] = {}
    for name in tree.files():
        path = pathlib.PurePath(name)
        if path.parts[0] in _FOLDERS and path.suffix == '.py':
            if path.stem == '__init__':
                path = path.parent
            by_folder.setdefault(str(path.parent), set()).add(path.stem)
    return by_folder


class TwinsTestCase(base.TestCase):
    def test_no_folder_has_twins(self) -> None:
        modules = _modules()
        self.assertIn('driver', modules['cinder_rbd_ext'])
        self.assertEqual(
            {}, {k: pairs for k, v in modules.items() if (pairs := _twins(v))}
        )

    def test_no_module_for_everything_else(self) -> None:
        vague = {'utils.py', 'util.py', 'helper.py', 'helpers.py'}
        names = [pathlib.PurePath(name).name for name in tree.files()]
        self.assertEqual(set(), vague & set(names))
