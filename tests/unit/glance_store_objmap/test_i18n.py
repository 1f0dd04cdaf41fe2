# SPDX-License-Identifier: Apache-2.0

"""Messages are translated with the catalogs of the package."""

import oslo_i18n
from oslo_i18n import fixture

from glance_store_objmap import i18n
from tests.unit import base

_TEXT = 'RBD image %s already exists'


class TranslationTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # Lazy translation, as in the service, for the language of each
        # request.
        self.useFixture(fixture.ToggleLazy(True))

    def test_message_is_translated_into_german(self) -> None:
        translate = i18n._
        message = translate(_TEXT)
        self.assertIn(
            'Das RBD-Abbild %s existiert bereits',
            oslo_i18n.translate(message, 'de'),
        )
