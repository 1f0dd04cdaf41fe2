# SPDX-License-Identifier: Apache-2.0

"""Layouts in the language of the user."""

from django.utils import translation

from horizon_volume_opts import layouts
from rbd_volume_options import layout
from tests.unit import base


class InWordsTestCase(base.TestCase):
    def test_as_the_rules_show_it_in_english(self) -> None:
        for made in (
            layout.ImageLayout(1 << 22),
            layout.ImageLayout.from_numbers(1 << 23, 1 << 16, 8),
        ):
            with translation.override('en'):
                shown = str(made).replace('x', '×')
                self.assertEqual(
                    shown, layouts.in_words(made).replace('\xa0', ' ')
                )

    def test_layout_is_translated_to_german(self) -> None:
        with translation.override('de'):
            self.assertEqual(
                'Objekte mit 8\xa0MiB, 64\xa0KiB\xa0×\xa08',
                layouts.in_words(
                    layout.ImageLayout.from_numbers(1 << 23, 1 << 16, 8)
                ),
            )
