# SPDX-License-Identifier: Apache-2.0

"""The checkout and its files."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from typing import Any

import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent

PACKAGES = (
    'rbd_volume_options',
    'cinder_rbd_ext',
    'nova_rbd_cache',
    'horizon_volume_opts',
    'glance_store_objmap',
    'rbd_volume_tools',
    'rbd_tempest_plugin',
)


def project() -> dict[str, Any]:
    """Return the metadata of the distribution, from pyproject.toml."""
    text = (ROOT / 'pyproject.toml').read_text()
    metadata: dict[str, Any] = tomllib.loads(text)['project']
    return metadata


def entry_points() -> dict[str, dict[str, str]]:
    """Return the targets of the entry points, by group and name."""
    metadata = project()
    scripts = {'console_scripts': metadata['scripts']}
    return {**scripts, **metadata['entry-points']}


def files(root: pathlib.Path = ROOT) -> list[str]:
    """Return the paths that git tracks or would add, relative to the root.

    Untracked files are included, so that checks find errors before a
    commit.
    """
    listed = subprocess.run(
        ['git', 'ls-files', '-z', '-co', '--exclude-standard'],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return sorted(
        name
        for name in set(listed.split('\0'))
        if name and (root / name).is_file()
    )


def export(target: pathlib.Path, root: pathlib.Path = ROOT) -> None:
    """Copy only the checkout's files to a new git repository.

    A build in the checkout would leave build/ and egg-info there and
    include deleted modules from an older build/. pbr gets the files of a
    package from git, which requires a repository. With a single commit,
    pbr would use version 0.0.0, hence the two commits.
    """
    for name in files(root):
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, copy)
    git = [
        'git',
        '-c',
        'user.name=export',
        '-c',
        'user.email=export@localhost',
        '-c',
        'commit.gpgsign=false',
    ]
    for command in (
        ['init', '--quiet'],
        ['commit', '--quiet', '--allow-empty', '--message', 'start'],
        ['add', '--all'],
        ['commit', '--quiet', '--message', 'the tree'],
    ):
        subprocess.run([*git, *command], cwd=target, check=True)
