# SPDX-License-Identifier: Apache-2.0

"""The texts for the kinds of findings."""

from django.utils import translation

from horizon_volume_opts.admin_images import findings
from rbd_volume_tools.audit import findings as audited
from tests.unit import base


class LabelsTestCase(base.TestCase):
    def test_each_kind_has_a_text(self) -> None:
        self.assertEqual(set(audited.KINDS), set(findings.LABELS))
        self.assertEqual(
            len(audited.KINDS), len(set(findings.LABELS.values()))
        )

    def test_texts_of_an_image(self) -> None:
        kinds = ('slow-deletion', 'of a newer audit')
        with translation.override('en'):
            self.assertEqual(
                'slow deletion, of a newer audit', findings.labels(kinds)
            )
        with translation.override('de'):
            self.assertEqual(
                'langsames Löschen, of a newer audit', findings.labels(kinds)
            )
