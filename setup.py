# SPDX-License-Identifier: Apache-2.0

"""For tools that still call setup.py; pyproject.toml names the backend."""

import configparser
import gzip
import os
import pathlib
import subprocess
import sys
import tarfile

import setuptools

# First, because PYTHONPATH may name the tools of another checkout.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / 'tools'))

import compiled


def set_version_of_shallow_clone() -> None:
    """Have pbr use the version of setup.cfg where git lacks the tags.

    In a shallow clone pbr would use version 0.0.0.
    """
    command = ['git', 'rev-parse', '--is-shallow-repository']
    try:
        shallow = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return
    if shallow.stdout.strip() == 'true':
        setup = configparser.ConfigParser()
        setup.read('setup.cfg')
        version = setup['metadata']['version']
        os.environ.setdefault('PBR_VERSION', f'{version}.dev0')


class ReproducibleArchive:
    """Mixin of ``sdist``: equal trees make equal archives.

    setuptools stores the time of the build, and times, owners and permissions
    of the files, even if ``SOURCE_DATE_EPOCH`` is set.
    """

    def make_archive(self, base_name, format, *args, base_dir=None, **kwargs):
        """Make an archive with the time of ``SOURCE_DATE_EPOCH``."""
        time = os.environ.get('SOURCE_DATE_EPOCH')
        if format != 'gztar' or time is None:
            return super().make_archive(
                base_name, format, *args, base_dir=base_dir, **kwargs
            )

        def made_equal(member):
            executable = member.isdir() or member.mode & 0o100
            member.mode = 0o755 if executable else 0o644
            member.mtime = int(time)
            member.uid = member.gid = 0
            member.uname = member.gname = ''
            return member

        os.makedirs(os.path.dirname(base_name), exist_ok=True)
        name = f'{base_name}.tar.gz'
        with (
            open(name, 'wb') as file,
            gzip.GzipFile('', 'wb', mtime=int(time), fileobj=file) as packed,
            tarfile.open(fileobj=packed, mode='w') as archive,
        ):
            archive.add(base_dir, filter=made_equal)
        return name


class Distribution(setuptools.Distribution):
    """Its ``sdist`` makes equal archives; pbr replaces ``cmdclass``."""

    def get_command_class(self, command):
        """Return a command's class; pbr replaces that of ``sdist``."""
        stock = super().get_command_class(command)
        if command != 'sdist' or issubclass(stock, ReproducibleArchive):
            return stock
        made = type(stock.__name__, (ReproducibleArchive, stock), {})
        self.cmdclass[command] = made
        return made


set_version_of_shallow_clone()
compiled.write()
setuptools.setup(
    setup_requires=['pbr>=6.1.1'], pbr=True, distclass=Distribution
)
