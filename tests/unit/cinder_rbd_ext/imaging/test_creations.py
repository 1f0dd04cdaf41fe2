# SPDX-License-Identifier: Apache-2.0

"""Creations of the same image within each other.

How a creation is undone is tested with each path of creation.
"""

from cinder_rbd_ext import exceptions
from cinder_rbd_ext.imaging import creations
from tests import option_values
from tests.unit import base


class CreationsTest(base.TestCase):
    def test_inner_creation_hides_the_outer_one_until_it_ends(self) -> None:
        under_way = creations.Creations()
        outer, inner = (
            creations.Creation('volume-1', lambda *_: option_values.planned())
            for _ in range(2)
        )

        def fail() -> None:
            with under_way.hold(inner):
                self.assertIs(inner, under_way.get('volume-1'))
                raise ValueError

        with under_way.hold(outer):
            self.assertRaises(exceptions.ImageNotMade, fail)
            self.assertIs(outer, under_way.get('volume-1'))
        self.assertIsNone(under_way.get('volume-1'))
