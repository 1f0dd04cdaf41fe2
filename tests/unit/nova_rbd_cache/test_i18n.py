# SPDX-License-Identifier: Apache-2.0

"""Messages are translated from the catalogues of the package."""

import oslo_i18n
from oslo_i18n import fixture

from nova_rbd_cache import i18n
from tests.unit import base

_TEXT = (
    'nova_rbd_cache cannot be active: %(reason)s. To start nova-compute '
    'without it, set [rbd_cache] enabled = False.'
)


class TranslationTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # The service does this so that each request has its language.
        self.useFixture(fixture.ToggleLazy(True))

    def test_message_is_translated_into_german(self) -> None:
        translate = i18n._
        message = translate(_TEXT)
        self.assertIn(
            'nova_rbd_cache kann nicht aktiv sein',
            oslo_i18n.translate(message, 'de'),
        )
