# SPDX-License-Identifier: Apache-2.0

import copy
import json
import pickle

from rbd_volume_options import phrases
from tests.unit import base


class PhraseTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.phrase = phrases.Phrase('up to {maximum:,} objects', maximum=1000)

    def test_is_the_text(self) -> None:
        self.assertEqual('up to 1,000 objects', self.phrase)
        self.assertEqual('"up to 1,000 objects"', json.dumps(self.phrase))

    def test_phrase_has_template_and_values(self) -> None:
        self.assertEqual('up to {maximum:,} objects', self.phrase.template)
        self.assertEqual({'maximum': 1000}, self.phrase.values)

    def test_values_are_no_templates(self) -> None:
        self.assertEqual('{x} ', phrases.Phrase('{key} ', key='{x}'))

    def test_copies_have_the_parts(self) -> None:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            written = pickle.dumps(self.phrase, protocol)
            self.check(pickle.loads(written))  # noqa: S301 - made above
        self.check(copy.copy(self.phrase))
        self.check(copy.deepcopy(self.phrase))

    def check(self, other: phrases.Phrase) -> None:
        self.assertEqual(self.phrase, other)
        self.assertEqual(self.phrase.template, other.template)
        self.assertEqual(self.phrase.values, other.values)
