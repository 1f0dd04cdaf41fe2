# SPDX-License-Identifier: Apache-2.0

"""Names of a host service that the suite depends on, as data.

Each package has a table of them, which is checked with the installed release.
If a name moves, a parameter changes or a method calls others in another
order, the failure names the change, the version and the suite's module.
"""

import ast
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import pathlib
import re
import textwrap
from typing import Any

from tests import tree

_IMPLICIT = ('self', 'cls')


@dataclasses.dataclass(frozen=True)
class Clause:
    """A name in the host service.

    :ivar module: module of the host service
    :ivar name: name in the module, such as ``Class.method``
    :ivar used_in: the suite's module that depends on the name
    :ivar takes: first parameters without ``self``; None if it is not called
    :ivar calls: functions that it calls, in this order, among others
    """

    module: str
    name: str
    used_in: str
    takes: Sequence[str] | None = None
    calls: Sequence[str] = ()

    @property
    def shown(self) -> str:
        """The name with its parameters, for messages."""
        taken = '' if self.takes is None else f'({", ".join(self.takes)})'
        return f'{self.module}.{self.name}{taken}'

    def problem(self) -> str | None:
        """Return what has changed, as the end of a sentence."""
        return _problem(self)


@dataclasses.dataclass(frozen=True)
class Passage:
    """Text in a script or template of the host service.

    :ivar package: package of the host service
    :ivar file: path of the file in the package
    :ivar words: texts in the file; white space is ignored
    :ivar used_in: the suite's file that depends on the text
    """

    package: str
    file: str
    words: Sequence[str]
    used_in: str

    def problem(self) -> str | None:
        """Return what has changed, as the end of a sentence."""
        shown = f'{self.package}/{self.file}'
        (folder,) = importlib.import_module(self.package).__path__
        path = pathlib.Path(folder, self.file)
        if not path.is_file():
            return f'no longer has {shown}'
        text = _spaceless(path.read_text())
        for words in self.words:
            if _spaceless(words) not in text:
                return f'no longer says {words} in {shown}'
        return None


def _spaceless(text: str) -> str:
    return re.sub(r'\s', '', text)


def problems(host: str, clauses: Iterable[Clause | Passage]) -> list[str]:
    """Return a sentence for each clause that is not met.

    The suite's module must exist, too.

    :param host: distribution of the host service
    """
    version = importlib.metadata.version(host)
    lines = []
    for clause in clauses:
        if not (tree.ROOT / clause.used_in).exists():
            lines.append(f'{clause.used_in} does not exist')
        if problem := clause.problem():
            lines.append(f'{host} {version} {problem}: see {clause.used_in}')
    return lines


def _problem(clause: Clause) -> str | None:
    try:
        holder: Any = importlib.import_module(clause.module)
        *outer, name = clause.name.split('.')
        holder = functools.reduce(getattr, outer, holder)
        member: Any = getattr(holder, name)
    except (ImportError, AttributeError):
        return f'no longer has {clause.shown}'
    if inspect.isclass(holder) and inspect.isfunction(member):
        member = _written(holder, name) or member
    if clause.takes is not None:
        taken = [each for each in _taken(member) if each not in _IMPLICIT]
        if taken[: len(clause.takes)] != list(clause.takes):
            return (
                f'no longer has {clause.shown} but {name}({", ".join(taken)})'
            )
    missing = _missing_call(member, clause.calls) if clause.calls else None
    if missing:
        return (
            f'no longer calls {missing} in {clause.module}.{clause.name}, '
            f'in the order {", ".join(clause.calls)}'
        )
    return None


def _written(cls: type, name: str) -> ast.FunctionDef | None:
    """Return the source of a method, without its decorators' effect."""
    owner = next(each for each in cls.__mro__ if name in vars(each))
    (tree,) = _parsed(owner).body
    if not isinstance(tree, ast.ClassDef):
        return None
    return next(
        (
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == name
        ),
        None,
    )


@functools.cache
def _parsed(member: Any) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(member)))


def _taken(member: Any) -> list[str]:
    if isinstance(member, ast.FunctionDef):
        return [each.arg for each in member.args.args]
    return list(inspect.signature(member).parameters)


def _missing_call(member: Any, wanted: Sequence[str]) -> str | None:
    made = iter(_calls(member))
    for name in wanted:
        # ``in`` continues after the previous match.
        if name not in made:
            return name
    return None


def _calls(member: Any) -> list[str]:
    """Return the names that a function calls, in source order."""
    tree = member if isinstance(member, ast.FunctionDef) else _parsed(member)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    # Sort by the end of the name, so that a chain's first call is first.
    calls.sort(
        key=lambda node: (node.func.end_lineno, node.func.end_col_offset)
    )
    return [
        getattr(node.func, 'attr', getattr(node.func, 'id', ''))
        for node in calls
    ]
