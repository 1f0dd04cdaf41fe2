# SPDX-License-Identifier: Apache-2.0

"""For tools that still call setup.py; pyproject.toml names the backend."""

import configparser
import os
import subprocess

import setuptools


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


class Distribution(setuptools.Distribution):
    """Has folders of data as packages, which they are to setuptools.

    pbr lists only folders with an ``__init__.py``. For every other folder
    setuptools would warn that it is not listed. pbr replaces ``packages`` and
    ``cmdclass``.
    """

    def run_commands(self) -> None:
        """Add the folders to the packages that pbr lists."""
        tops = {name.partition('.')[0] for name in self.packages}
        found = setuptools.find_namespace_packages(
            include=[f'{top}.*' for top in tops], exclude=['*.__pycache__']
        )
        self.packages = sorted({*self.packages, *found})
        super().run_commands()


set_version_of_shallow_clone()
setuptools.setup(
    setup_requires=['pbr>=6.1.1'], pbr=True, distclass=Distribution
)
