# SPDX-License-Identifier: Apache-2.0

"""The page on overridden methods matches the code."""

import pathlib
import re

from cinder.volume.drivers import rbd as stock

from cinder_rbd_ext import driver
from tests.unit import base

_PAGE = (
    pathlib.Path(__file__).resolve().parents[2]
    / 'doc/source/contributor/architecture.rst'
)


class OverriddenTest(base.TestCase):
    """The page's table lists exactly the overridden methods."""

    def test_page_and_code_agree(self) -> None:
        text = _PAGE.read_text()
        table = text[text.index('Methods\n----') :]
        table = table[: table.index('Where the design')]
        on_page = set(re.findall(r'^   \* - ``(\w+)``$', table, re.MULTILINE))
        in_code = {
            name
            for name, value in vars(driver.RBDExtDriver).items()
            if callable(getattr(value, '__func__', value))
            and hasattr(stock.RBDDriver, name)
            and not (name.startswith('__') and name != '__init__')
        }
        self.assertEqual(in_code, on_page)

    def test_one_subclass(self) -> None:
        """Collaborators, not further classes, extend the driver."""
        ours = [
            cls
            for cls in driver.RBDExtDriver.__mro__
            if cls.__module__.startswith('cinder_rbd_ext.')
        ]
        self.assertEqual([driver.RBDExtDriver], ours)
