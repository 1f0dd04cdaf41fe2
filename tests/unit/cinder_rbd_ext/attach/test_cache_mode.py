# SPDX-License-Identifier: Apache-2.0

import ddt

from cinder_rbd_ext.attach import cache_mode
from rbd_volume_options import keys
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

_MODE = {keys.CACHE_MODE: 'none'}


@ddt.ddt
class AttachingTest(base.TestCase):
    @ddt.data((_MODE, {}, True), ({}, _MODE, True), ({}, {}, False))
    @ddt.unpack
    def test_volume_and_its_type_request_a_mode(
        self, metadata: dict[str, str], specs: dict[str, str], requests: bool
    ) -> None:
        volume = cinder_objects.volume(
            metadata, cinder_objects.volume_type(**specs)
        )
        attaching = cache_mode.attaching(volume)
        self.assertIs(requests, attaching.requires_host)
        self.assertEqual(volume.id, attaching.ident)
        self.assertFalse(attaching.multiattach)

    def test_recorded_mode_is_accepted(self) -> None:
        attaching = cache_mode.attaching(cinder_objects.volume(_MODE))
        self.assertTrue(attaching.is_accepted(keys.CACHE_MODE, 'none'))
        self.assertFalse(attaching.is_accepted(keys.CACHE_MODE, 'unsafe'))
