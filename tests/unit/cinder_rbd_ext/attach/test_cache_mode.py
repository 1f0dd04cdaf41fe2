# SPDX-License-Identifier: Apache-2.0

from cinder_rbd_ext.attach import cache_mode
from rbd_volume_options import keys
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects


class AgreeTest(base.TestCase):
    def test_mode_that_was_recorded_needs_no_permission_any_more(self) -> None:
        settings = cinder_objects.settings(rbd_tenant_options='')
        volume = cinder_objects.volume({keys.CACHE_MODE: 'none'})
        for recorded, is_allowed in (
            (volume.admin_metadata, True),
            ({}, False),
        ):
            volume.admin_metadata = recorded
            agreed = cache_mode.agree(volume, {}, settings)
            self.assertIs(is_allowed, agreed.not_allowed is None)
