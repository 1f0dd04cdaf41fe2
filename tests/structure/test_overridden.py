# SPDX-License-Identifier: Apache-2.0

"""Collaborators, not further classes, extend the stock driver."""

from cinder_rbd_ext import driver
from tests.unit import base


class OverriddenTest(base.TestCase):
    def test_one_subclass(self) -> None:
        ours = [
            cls
            for cls in driver.RBDExtDriver.__mro__
            if cls.__module__.startswith('cinder_rbd_ext.')
        ]
        self.assertEqual([driver.RBDExtDriver], ours)
