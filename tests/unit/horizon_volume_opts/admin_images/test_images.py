# SPDX-License-Identifier: Apache-2.0

"""RBD images as plain values."""

import json

from horizon_volume_opts.admin_images import images
from rbd_volume_options import layout
from tests.unit import base


class ImageTestCase(base.TestCase):
    def test_through_json(self) -> None:
        for before in (
            images.Image('p', '', images.MapState.UNKNOWN),
            images.Image(
                'h@b#p',
                'gold',
                images.MapState.INVALID,
                layout.ImageLayout.from_numbers(1 << 20, 1 << 16, 8),
                'ec',
                'an id',
                'a name',
                'a project',
                7,
                ('object-map-invalid',),
            ),
        ):
            plain = json.loads(json.dumps(before.plain()))
            self.assertEqual(before, images.Image.of_plain(plain))
