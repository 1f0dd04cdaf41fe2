# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

from rbd_volume_options import features
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import decisions
from rbd_volume_tools.fleet import object_maps
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.fleet import stubs

_LOCKED = frozenset({features.LAYERING, features.EXCLUSIVE_LOCK})
_EARLIER = frozenset({'client.40'})


class ObjectMapsTest(base.TestCase):
    def make(
        self, enabled: features.Features, flags: int = 0
    ) -> object_maps.ObjectMaps:
        self.image = stubs.Image(enabled, flags)
        cluster: Any = self.image
        return object_maps.ObjectMaps(
            cluster, None, 'volumes', 'image', 'abc', _EARLIER
        )

    def test_image_that_got_the_name_meanwhile_is_not_changed(self) -> None:
        maps = self.make(facts.MAPPED, 3)
        self.image.ident = 'def'
        for change in (
            lambda: maps.enable(features.MAP_ON),
            lambda: maps.disable(features.MAP_OFF),
            maps.rebuild,
            lambda: maps.verify(True),
        ):
            error = self.assertRaises(outcomes.Refused, change)
            self.assertIs(decisions.REPLACED, error.reason)
        self.assertEqual([], self.image.calls)

    def test_image_replaced_after_the_check_of_its_clients_is_not_changed(
        self,
    ) -> None:
        maps = self.make(_LOCKED)
        idents = ['abc', 'abc', 'def']
        with mock.patch.object(
            self.image, 'id', autospec=True, side_effect=idents
        ):
            self.assertRaises(outcomes.Refused, maps.enable, features.MAP_ON)
        self.assertEqual([], self.image.calls)

    def test_not_verified(self) -> None:
        maps = self.make(facts.MAPPED, 3)
        self.image.rebuilds = False
        maps.rebuild()
        self.assertRaises(outcomes.NotVerified, maps.verify, True)
        self.image.flags_of[None] = 0
        self.assertRaises(outcomes.NotVerified, maps.verify, True)
        self.image.flags_of[7] = 0
        self.assertRaises(outcomes.NotVerified, maps.verify, False)
        maps.verify(True)
