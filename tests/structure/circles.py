# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Find circular imports."""

from __future__ import annotations

from collections.abc import Mapping
import pathlib

from tests.structure import imports


def module(path: str) -> str:
    """Return the full name of the module in a file."""
    parts = pathlib.PurePosixPath(path).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def found(sources: Mapping[str, str]) -> list[str]:
    """Return import cycles as `a -> b -> a`, at least one if any exists.

    :param sources: the source of each module, by its full name

    Imports in functions and imports for types alone count, too, because they
    only hide a cycle.
    """
    return _found(
        {name: _needed(name, text, sources) for name, text in sources.items()}
    )


def found_between_folders(sources: Mapping[str, str]) -> list[str]:
    """Return import cycles as :func:`found`, between folders of a package.

    Each folder counts as one module with all that its modules import.
    """
    needs: dict[str, set[str]] = {}
    for name, text in sources.items():
        folder = _folder(name)
        needs.setdefault(folder, set()).update(
            _folder(each) for each in _needed(name, text, sources)
        )
        needs[folder].discard(folder)
    return _found(needs)


def _folder(name: str) -> str:
    """Return the folder of a module in its package, or the module itself."""
    return '.'.join(name.split('.')[:2])


def _found(needs: Mapping[str, set[str]]) -> list[str]:
    circles = []
    done: set[str] = set()
    for name in sorted(needs):
        if circle := _circle(name, needs, done, []):
            circles.append(' -> '.join(circle))
    return circles


def _needed(name: str, text: str, known: Mapping[str, str]) -> set[str]:
    found = set()
    for each in imports.imports(text):
        # In `from a import b`, b is a module or a name in a.
        whole = (
            each.name if each.name in known else each.name.rpartition('.')[0]
        )
        if whole in known and whole != name:
            found.add(whole)
    return (found & known.keys()) - {name}


def _circle(
    name: str,
    needs: Mapping[str, set[str]],
    done: set[str],
    path: list[str],
) -> list[str]:
    """Follow each import once and return the first cycle found."""
    if name in path:
        return [*path[path.index(name) :], name]
    if name in done:
        return []
    done.add(name)
    for each in sorted(needs[name]):
        if circle := _circle(each, needs, done, [*path, name]):
            return circle
    return []
