# SPDX-License-Identifier: Apache-2.0

"""Writes the list of third-party packages, with their licenses.

The packages are those of an installation with all extras, in the versions of
the newest release's constraints. The distribution contains none of them. The
list has no time and no random number, so it changes with its contents only.
"""

from collections.abc import Iterable
import configparser
import itertools
import json
import pathlib
import re
import subprocess
import sys
import textwrap
from typing import Any

import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
#: The list in the format of CycloneDX, and the licenses as text.
MATERIALS = 'licenses/rbd-volume-options.cdx.json'
LICENSES = 'licenses/THIRD-PARTY.rst'
_GENERATOR = 'cyclonedx-bom==7.5.0'
_KEPT = ('bom-ref', 'type', 'name', 'version', 'purl', 'scope', 'licenses')
_HEAD = """====================
Third-party licenses
====================

These packages are installed with the distribution and all of its extras. The
distribution does not contain them. The licenses are those that the packages
declare. ``rados`` and ``rbd`` (LGPL-2.1) come with Ceph.
"""


def normal(name: str) -> str:
    """Return the name of a package as package indexes compare it."""
    return re.sub(r'[-_.]+', '-', name).lower()


def _project() -> dict[str, Any]:
    text = (ROOT / 'pyproject.toml').read_text()
    metadata: dict[str, Any] = tomllib.loads(text)['project']
    return metadata


def requirements() -> tuple[list[str], list[str]]:
    """Return the requirements without an extra, and those of all extras."""
    lines = (ROOT / 'requirements.txt').read_text().splitlines()
    extras = itertools.chain(*_project()['optional-dependencies'].values())
    required, optional = (
        sorted({line.partition('#')[0].strip() for line in each} - {''})
        for each in (lines, extras)
    )
    return required, optional


def names(lines: Iterable[str]) -> set[str]:
    """Return the normalized names of requirements."""
    return {normal(re.split(r'[\[<>=!~; ]', each)[0]) for each in lines}


def reduced(document: dict[str, Any]) -> dict[str, Any]:
    """Return a list of packages with the distribution as its subject."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / 'setup.cfg')
    project, version = (setup['metadata'][x] for x in ('name', 'version'))
    required, optional = (names(each) for each in requirements())
    known = {normal(x['name']): x['bom-ref'] for x in document['components']}
    edges = {
        each['ref']: each.get('dependsOn', [])
        for each in document['dependencies']
    }
    needed: set[str] = set()
    left = [known[name] for name in sorted(required)]
    while left:
        if (each := left.pop()) not in needed:
            needed.add(each)
            left += edges.get(each, [])
    for component in document['components']:
        is_needed = component['bom-ref'] in needed
        component['scope'] = 'required' if is_needed else 'optional'
    direct = sorted(known[name] for name in required | optional)
    subject = {
        'bom-ref': project,
        'type': 'library',
        'name': project,
        'version': version,
        'purl': f'pkg:pypi/{project}@{version}',
        'licenses': [{'license': {'id': _project()['license']}}],
    }
    return {
        'bomFormat': document['bomFormat'],
        'specVersion': document['specVersion'],
        'version': 1,
        'metadata': {'component': subject},
        'components': [
            {key: each[key] for key in _KEPT if key in each}
            for each in document['components']
        ],
        'dependencies': [
            {'ref': project, 'dependsOn': direct},
            *document['dependencies'],
        ],
    }


def text_of(document: dict[str, Any]) -> str:
    """Return a list of packages as JSON, with one line for each entry."""
    entries = []
    for name, value in document.items():
        inner = json.dumps(value)
        if isinstance(value, list):
            lines = ',\n  '.join(map(json.dumps, value))
            inner = f'[\n  {lines}\n ]'
        entries.append(f' {json.dumps(name)}: {inner}')
    return '{\n' + ',\n'.join(entries) + '\n}\n'


def licenses_of(document: dict[str, Any]) -> str:
    """Return the packages by license, as text."""
    by_license: dict[str, list[str]] = {}
    for each in document['components']:
        declared = map(_license, each.get('licenses', []))
        name = ' AND '.join(sorted({*declared} - {''})) or 'Not declared'
        package = f'{each["name"]} {each["version"]}'
        by_license.setdefault(name, []).append(package)
    return _HEAD + ''.join(
        f'\n{name}\n{_filled(", ".join(packages))}\n'
        for name, packages in sorted(by_license.items())
    )


def _filled(text: str) -> str:
    return textwrap.fill(
        text,
        79,
        initial_indent='    ',
        subsequent_indent='    ',
        break_on_hyphens=False,
    )


def _license(entry: dict[str, Any]) -> str:
    """Return the name of a license, which may be that of a classifier."""
    inner = entry.get('license', {})
    name = entry.get('expression') or inner.get('id') or inner.get('name', '')
    name = name.removeprefix('License :: OSI Approved')
    return str(name.rpartition(' :: ')[2])


def write(uv: str, python: str) -> None:
    """Write the files, from the environment of an interpreter."""
    command = [uv, 'tool', 'run', '--from', _GENERATOR, 'cyclonedx-py']
    command += ['environment', '--output-reproducible', python]
    document = reduced(json.loads(subprocess.check_output(command)))
    for name, text in (
        (MATERIALS, text_of(document)),
        (LICENSES, licenses_of(document)),
    ):
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text)


if __name__ == '__main__':
    write(*sys.argv[1:])
