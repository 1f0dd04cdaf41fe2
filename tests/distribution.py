# SPDX-License-Identifier: Apache-2.0

"""Builds the sdist, builds the wheel from it, and unpacks the wheel."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from tests import tree


@dataclasses.dataclass(frozen=True)
class Built:
    """The sdist, the wheel and the unpacked wheel of a build."""

    sdist: pathlib.Path
    wheel: pathlib.Path
    installed: pathlib.Path
    log: str


def build(
    target: pathlib.Path,
    python: str = sys.executable,
    root: pathlib.Path = tree.ROOT,
) -> Built:
    """Build the checkout with the tools of `python`'s environment.

    No isolated build environment: it would download pbr and setuptools for
    every run. The wheel is built from the sdist, as distributions do, so that
    files missing from the sdist are noticed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, 'source')
        tree.export(source, root)
        log = _run_build(python, source, target)
    return _unpack(target, log)


def build_archive(
    target: pathlib.Path,
    python: str = sys.executable,
    root: pathlib.Path = tree.ROOT,
) -> pathlib.Path:
    """Build a wheel from the checkout's files without the git repository.

    This is the case in an archive of a commit and in the sandbox. The version
    must be given.
    """
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, 'source')
        tree.export(source, root)
        shutil.rmtree(source / '.git')
        _run_build(python, source, target, '--wheel', PBR_VERSION='1.0.0')
    (wheel,) = target.glob('*.whl')
    return wheel


def build_shallow_clones(
    targets: list[pathlib.Path], python: str = sys.executable
) -> None:
    """Build sdists and wheels from clones of the checkout without history."""
    with tempfile.TemporaryDirectory() as scratch:
        whole = pathlib.Path(scratch, 'whole')
        tree.export(whole)
        for target in targets:
            source = pathlib.Path(scratch, target.name)
            command = ['git', 'clone', '--quiet', '--depth', '1']
            subprocess.run([*command, f'file://{whole}', source], check=True)
            times = {'SOURCE_DATE_EPOCH': '1800000000'}
            _run_build(python, source, target, **times)


def _run_build(
    python: str,
    source: pathlib.Path,
    target: pathlib.Path,
    *arguments: str,
    **environ: str,
) -> str:
    # pbr prefers the first two to the version from git.
    unwanted = ('PBR_VERSION', 'OSLO_PACKAGE_VERSION', 'PYTHONPATH')
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in unwanted
    }
    command = [python, '-m', 'build', '--no-isolation', *arguments]
    result = subprocess.run(
        [*command, '--outdir', str(target), str(source)],
        env={**inherited, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if result.returncode:
        raise RuntimeError(f'the build failed:\n{result.stdout}')
    return result.stdout


def _unpack(target: pathlib.Path, log: str) -> Built:
    (sdist,) = target.glob('*.tar.gz')
    (wheel,) = target.glob('*.whl')
    installed = target / 'installed'
    if not installed.exists():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(installed)
    return Built(sdist, wheel, installed, log)
