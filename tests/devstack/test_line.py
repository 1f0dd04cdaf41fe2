# SPDX-License-Identifier: Apache-2.0

"""The line of ``local.conf`` that enables the plug-in."""

import pathlib
import re

from tests.unit import base

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_URL = 'file:///opt/stack/rbd-volume-options'
_FILES = ('README.rst', 'local.conf.sample')


def _arguments(name: str) -> str:
    """Return the arguments of ``enable_plugin`` in a file of ``devstack/``."""
    text = (_ROOT / 'devstack' / name).read_text()
    match = re.search(
        r'^ *enable_plugin (rbd-volume-options .*)$', text, re.MULTILINE
    )
    if match is None:
        raise AssertionError(f'no line in {name}')
    return match[1]


class LineTest(base.TestCase):
    def test_with_the_branch(self) -> None:
        """Without a branch DevStack uses ``master``."""
        for name in _FILES:
            self.assertEqual(
                f'rbd-volume-options {_URL} main', _arguments(name), name
            )
