# SPDX-License-Identifier: Apache-2.0

"""Gives each top-level package of an installed tree metadata of its own.

For distributions that make a package of each. A service loads every entry
point of a namespace that it finds, so those of a module must not be found
where the module isn't installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import configparser
from email import parser
import io
import pathlib

_METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: {summary}
Requires-Dist: {requires}=={version}
"""


def split(site: pathlib.Path) -> list[pathlib.Path]:
    """Split the metadata in a folder of packages; return the new ones.

    What was there stays for what no top-level package with entry points
    has: it has none any more, and no list of files, which wouldn't be true.
    """
    (whole,) = site.glob('rbd_volume_options-*.dist-info')
    text = (whole / 'METADATA').read_text(encoding='utf-8')
    known = parser.HeaderParser().parsestr(text)
    points = _read(whole / 'entry_points.txt')
    owners = {owner for _, _, owner in _owned(points)}
    made = []
    for owner in sorted(owners):
        target = site / f'{owner}-{known["Version"]}.dist-info'
        target.mkdir()
        (target / 'METADATA').write_text(
            _METADATA.format(
                name=owner.replace('_', '-'),
                version=known['Version'],
                summary=f'{known["Summary"]}: {owner}',
                requires=known['Name'],
            ),
            encoding='utf-8',
        )
        _write(target / 'entry_points.txt', points, owner)
        made.append(target)
    (whole / 'entry_points.txt').unlink()
    (whole / 'RECORD').unlink(missing_ok=True)
    return made


def _read(path: pathlib.Path) -> configparser.ConfigParser:
    points = _parser()
    points.read_string(path.read_text(encoding='utf-8'))
    return points


def _parser() -> configparser.ConfigParser:
    points = configparser.ConfigParser(
        delimiters=('=',), interpolation=None, strict=True
    )
    # Names are as they are written.
    points.optionxform = str  # type: ignore[assignment,method-assign]
    return points


def _owned(
    points: configparser.ConfigParser,
) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and top-level package of each entry point."""
    for group in points.sections():
        for name, value in points[group].items():
            yield group, name, value.partition(':')[0].partition('.')[0]


def _write(
    path: pathlib.Path, points: configparser.ConfigParser, owner: str
) -> None:
    own = _parser()
    for group, name, package in _owned(points):
        if package == owner:
            if not own.has_section(group):
                own.add_section(group)
            own[group][name] = points[group][name]
    text = io.StringIO()
    own.write(text)
    path.write_text(text.getvalue().rstrip() + '\n', encoding='utf-8')


if __name__ == '__main__':
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('site', type=pathlib.Path)
    split(arguments.parse_args().site)
