# SPDX-License-Identifier: Apache-2.0

"""Columns of the list."""

from horizon_volume_opts.admin_images import columns
from horizon_volume_opts.admin_images import images
from rbd_volume_options import layout
from tests.unit import base


class ColumnsTestCase(base.TestCase):
    def cells(self, image: images.Image) -> dict[str, str]:
        """Return the text of each column that has one."""
        cells = {
            each.name: str(each.text(image) or '') for each in columns.COLUMNS
        }
        return {name: text for name, text in cells.items() if text}

    def test_cells_of_an_image(self) -> None:
        made = layout.ImageLayout.from_numbers(1 << 20, 1 << 16, 8)
        self.assertEqual(
            {
                'name': 'an id',
                'layout': '1\xa0MiB objects, 64\xa0KiB\xa0×\xa08',
                'map': 'invalid object map',
                'pool': 'p',
                'findings': 'invalid object map',
            },
            self.cells(
                images.Image(
                    'p',
                    '',
                    images.MapState.INVALID,
                    made,
                    ident='an id',
                    findings=('object-map-invalid',),
                )
            ),
        )
