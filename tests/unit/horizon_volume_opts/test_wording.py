# SPDX-License-Identifier: Apache-2.0

"""The texts of the forms."""

import ddt
from django.utils import translation

from horizon_volume_opts import wording
from rbd_volume_options import features
from rbd_volume_options import offers
from rbd_volume_options import registry
from tests.unit import base

# Characters that a closed list of a dialog shows.
_WIDTH = 44


@ddt.ddt
class WordingTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # A test of Horizon may have left another language active.
        english = translation.override('en')
        english.__enter__()
        self.addCleanup(english.__exit__, None, None, None)

    def test_reason_of_the_rules_is_translated(self) -> None:
        self.assertEqual(offers.NOT_RBD, wording.reason(str(offers.NOT_RBD)))
        with translation.override('de'):
            self.assertIn('Backend', wording.reason(str(offers.NOT_RBD)))

    def test_forms_have_all_choosable_features(self) -> None:
        self.assertEqual(features.CHOOSABLE, set(wording.FEATURES))

    @ddt.data(
        ('rbd:bps_limit', 104857600, '100 MiB'),
        ('rbd:iops_limit', 12000, '12,000'),
        ('rbd:bps_burst_seconds', 5, '5'),
        ('rbd:object_map', False, 'No'),
        ('rbd:cache_mode', 'none', 'none'),
    )
    @ddt.unpack
    def test_value_has_a_unit_or_words(
        self, key: str, value: object, text: str
    ) -> None:
        self.assertEqual(text, wording.value_of(key, value))
        self.assertEqual(f'Default: {text}', wording.default(value, None, key))

    def test_help_of_bytes_per_second_names_a_unit(self) -> None:
        self.assertIn('100M', wording.short_help('rbd:write_bps_burst'))
        self.assertNotIn('100M', wording.short_help('rbd:bps_burst_seconds'))
        self.assertNotIn('100M', wording.short_help('rbd:iops_limit'))

    @ddt.data('en', 'de')
    def test_explained_choices_fit_into_a_closed_list(self, code: str) -> None:
        with translation.override(code):
            shown = [
                text
                for option in registry.changeable()
                for _choice, text in wording.choices(option)
            ]
        self.assertIn('writeback: ', ' '.join(shown))
        self.assertEqual([], [each for each in shown if len(each) > _WIDTH])
