# SPDX-License-Identifier: Apache-2.0

"""Messages are translated from the catalogues of the package."""

import oslo_i18n
from oslo_i18n import fixture

from cinder_rbd_ext import i18n
from tests.unit import base

_TEXT = 'Back end %(backend)s: %(reason)s'


class TranslationTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # The service does this so that each request has its language.
        self.useFixture(fixture.ToggleLazy(True))

    def test_message_is_translated_to_german(self) -> None:
        translate = i18n._
        message = translate(_TEXT)
        self.assertIn(
            'Backend %(backend)s: %(reason)s',
            oslo_i18n.translate(message, 'de'),
        )
